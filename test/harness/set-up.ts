import { afterAll } from 'vitest';
import { killRunning } from './processes.ts';

afterAll(killRunning);
