import { expect } from 'vitest';
import { sendRequest, type WireAnswer } from './wire.ts';
import type { Client } from './client.ts';
import type { Sample } from './samples.ts';

/** Requests that may be anything, and what must hold of the answer to each. */

/** Everything the service keeps. */
async function everything(service: Client): Promise<string> {
  const lists = await Promise.all(['/v2/tlds', '/v2/tsigkeys', '/v2/tokens'].map((path) => service.get(path)));
  return lists.map(({ text }) => text).join('\n');
}

/**
 * Sends a request on a connection of its own, and checks what must be true of the answer to any: it comes in time, is no fault of the
 * service's, tells what is wrong if something is, and then nothing has changed.
 */
export async function ask(service: Client, line: string, headers: readonly string[], body: string | Uint8Array = ''): Promise<WireAnswer> {
  const before = await everything(service);
  const answer = await sendRequest(service.url, [line, ...headers], body);
  expectAnswer(answer, line.startsWith('HEAD '));
  if (answer.status >= 400) expect(await everything(service)).toBe(before);
  return answer;
}

/** Checks the form of an answer, which has no body when the method was HEAD. */
export function expectAnswer({ status, headers, body }: WireAnswer, withoutBody = false): void {
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
  if (status < 400 || withoutBody) return;
  expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(body));
  const { message, error } = JSON.parse(body) as { message?: string; error?: { message: string } };
  expect(message ?? error?.message).toMatch(/./);
}

/** The headers of a request that is in order, but for those about its body. */
export const usual = (service: Client) => ['Host: dns.example', `X-Auth-Token: ${service.token}`];

/** The headers of a request that is in order and has this body. */
export const withBody = (service: Client, body: string | Uint8Array) => [
  ...usual(service),
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(body)}`,
];

/** The path of a collection, or of something below it. */
export const pathOf = ({ collection }: Sample, ...rest: string[]) => ['/v2', collection, ...rest].join('/');
