import { describe, expect, test } from 'vitest';
import { runInside } from './session.ts';
import { serve } from '../harness/connections.ts';

/** Starts a server with two pages. The first page links to `next`. Returns the server's URL. */
function serverWith(next: unknown): Promise<string> {
  return serve((request, response) => {
    const isFirst = request.url === '/v2/tlds';
    const name = isFirst ? 'com' : 'net';
    response.end(JSON.stringify({ tlds: [{ name }], links: isFirst ? { next } : {} }));
  });
}

async function list(next: unknown) {
  const url = await serverWith(next);
  const variables = { TSIGIL_URL: url, TSIGIL_TOKEN: 'token' };
  return runInside({ variables }, 'tld', 'list', '-f', 'value', '-c', 'name');
}

describe('the link to the next page', () => {
  test.each([[null], [undefined]])('%s ends the list', async (next) => {
    expect(await list(next)).toEqual({ status: 0, out: 'com\n', err: '' });
  });

  test.each([['/v2/tlds?marker=x'], ['?marker=x'], ['http://other.example/v2/tlds?marker=x']])(
    'the client follows the link %s to the configured service, whatever host the link names',
    async (next) => {
      expect(await list(next)).toEqual({ status: 0, out: 'com\nnet\n', err: '' });
    },
  );

  test.each([[7], ['http://['], ['/v2/tlds']])('%s is refused as an invalid link', async (next) => {
    const { status, err } = await list(next);
    expect([status, err]).toEqual([1, expect.stringContaining('Invalid link to the next page')]);
  });
});
