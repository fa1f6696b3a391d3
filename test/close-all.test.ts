import { expect, test } from 'vitest';
import { closeAll } from '../src/service.ts';

test('closes everything in reverse order, even after a failure, and then throws the first failure', async () => {
  const closed: string[] = [];
  const overdue = new AbortController().signal;
  const closers = [
    async () => void closed.push('database'),
    () => {
      closed.push('authentication');
      throw new Error('second');
    },
    async () => {
      closed.push('server');
      await Promise.reject(new Error('first'));
    },
  ];
  await expect(closeAll(closers, overdue)).rejects.toThrow('first');
  expect(closed).toEqual(['server', 'authentication', 'database']);
  await closeAll([], overdue);
});
