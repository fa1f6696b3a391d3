import { expect } from 'vitest';
import { sendRequest, type WireResponse } from './wire.ts';
import type { Client } from './client.ts';
import type { Sample } from './samples.ts';

/** Sends arbitrary requests and checks what must hold for every response. */

/** Returns all TLD entries, keys and tokens of the service as text. */
async function everything(service: Client): Promise<string> {
  const lists = await Promise.all(
    ['/v2/tlds', '/v2/tsigkeys', '/v2/tokens'].map((path) => service.get(path)),
  );
  return lists.map(({ text }) => text).join('\n');
}

/**
 * Sends a request on a new connection. Expects a response before the timeout, with a status below
 * 500. Expects every error to have a message, and its request to change nothing.
 */
export async function sendAny(
  service: Client,
  line: string,
  headers: readonly string[],
  body: string | Uint8Array = '',
): Promise<WireResponse> {
  const before = await everything(service);
  const response = await sendRequest(service.url, [line, ...headers], body);
  expectResponse(response, line.startsWith('HEAD '));
  if (response.status >= 400) expect(await everything(service)).toBe(before);
  return response;
}

/** Checks the format of a response. `withoutBody` is true for the method HEAD. */
export function expectResponse({ status, headers, body }: WireResponse, withoutBody = false): void {
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
  if (status < 400 || withoutBody) return;
  expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(Number(headers.get('content-length'))).toBe(Buffer.byteLength(body));
  const { message, error } = JSON.parse(body) as { message?: string; error?: { message: string } };
  expect(message ?? error?.message).toMatch(/./);
}

/** Returns the headers of a valid request without a body. */
export const usual = (service: Client) => ['Host: dns.example', `X-Auth-Token: ${service.token}`];

/** Returns the headers of a valid request with this body. */
export const withBody = (service: Client, body: string | Uint8Array) => [
  ...usual(service),
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(body)}`,
];

/** Returns the path of a collection, followed by the segments in `rest`. */
export const pathOf = ({ collection }: Sample, ...rest: string[]) =>
  ['/v2', collection, ...rest].join('/');
