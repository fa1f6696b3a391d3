import { describeDriver } from './driver-contract.ts';
import { describeIncludeFile } from './include-file-contract.ts';
import { knot } from '../harness/brands/knot.ts';

describeDriver(knot, (session) => describeIncludeFile(session, knot));
