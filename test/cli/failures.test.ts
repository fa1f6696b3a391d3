import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, temporaryFolder } from '../harness/service.ts';
import { tsigil } from './run.ts';
import { runInside } from './session.ts';
import { clientFor } from '../harness/zones.ts';
import { serve } from '../harness/connections.ts';

const folder = temporaryFolder();

describe.each(['401', '403'])('a service with status %s for missing rights', (status) => {
  test('for missing rights, names the roles that would help, and the command: exit code 4', async () => {
    const service = await startTestService({ TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: status });
    const ended = await runInside(await clientFor(service, ['reader']), 'token', 'list');
    expect([ended.status, ended.out]).toEqual([4, '']);
    expect(ended.err).toMatch(
      /^tsigil: Access denied: the right .tokens:list. needs one of the roles admin, auditor \(.*\)\nThe token is valid, .*: tsigil token create NAME --role ROLE\n$/,
    );
  });
});

/** Matches error texts of Node.js, the operating system and OpenSSL. */
const RAW = /\b(?:E[A-Z]{4,}|ERR_\w+|HPE_\w+)\b|socket hang up|:error:|PEM routines|XXXXXX/;

describe('an error is a sentence with a remedy, without error texts of Node.js or OpenSSL', () => {
  test.each([
    [
      'closes the connection',
      createServer((socket) => socket.once('data', () => socket.destroy()).on('error', () => 0)),
      /the server closed the connection before .*\nCheck the scheme of the URL: a server with TLS needs https\./,
    ],
    [
      'resets the connection',
      createServer((socket) =>
        socket.once('data', () => socket.resetAndDestroy()).on('error', () => 0),
      ),
      /the server closed the connection before .*\nCheck the scheme of the URL/,
    ],
    [
      'does not speak HTTP',
      createServer((socket) => socket.once('data', () => socket.end('x\n')).on('error', () => 0)),
      /the response is not HTTP\nCheck the URL/,
    ],
    [
      'breaks its response off',
      createHttpServer((_, response) => {
        response.writeHead(200, { 'content-length': '9' }).write('{');
        setImmediate(() => response.destroy());
      }),
      /the server closed the connection before .*\nCheck the scheme of the URL/,
    ],
  ])('if the server %s', async (_, server, message) => {
    const variables = { TSIGIL_URL: await serve(server), TSIGIL_TOKEN: 'token' };
    const { status, err } = await runInside({ variables }, 'tld', 'list');
    expect(status).toBe(3);
    expect(err).toMatch(message);
    expect(err).not.toMatch(RAW);
  });

  test.each([
    [
      'tld list --cacert nosuch.pem',
      /^tsigil: The CA file 'nosuch\.pem' cannot be read: no such file/,
    ],
    [
      'tld list --cacert garbage.pem',
      /^tsigil: The CA file 'garbage\.pem' contains no usable certificate\nUse a file with certificates in PEM format\.\n$/,
    ],
    ['tld list --token-file nosuch', /^tsigil: No token: 'nosuch' cannot be read: no such file/],
    [
      'tld import nosuch',
      /^tsigil: 'nosuch' cannot be read: no such file or folder\nCheck the path\.\n/,
    ],
    ['tld import .', /^tsigil: '\.' cannot be read: the path is a folder, not a file\n/],
    [
      `tld import ${'long'.repeat(99)}`,
      /^tsigil: '(?:long)+' cannot be read: the path is too long\nChoose a shorter path\.\n$/,
    ],
    [
      'backup --to copy.db',
      /^tsigil: The database '.*\/var\/tsigil\.db' does not exist\. Use --config FILE /,
    ],
  ])('if the command is tsigil %s', async (line, message) => {
    writeFileSync(join(folder, 'garbage.pem'), 'no certificate');
    const { status, out, err } = await tsigil(
      folder,
      { TSIGIL_URL: 'https://127.0.0.1:1', TSIGIL_TOKEN: 'token' },
      ...line.split(' '),
    );
    expect(out).toBe('');
    expect(status).not.toBe(0);
    expect(err).toMatch(message);
    expect(err).not.toMatch(RAW);
  });
});

describe('a refusal at a terminal', () => {
  /** Returns what a command says about the refusal of a change with this status and message. */
  async function refusedWith(status: number, type: string, message: string) {
    const url = await serve((request, response) => {
      const body =
        request.method === 'GET'
          ? { tsigkeys: [{ id: UNKNOWN_ID, name: 'k' }], deliveries: [], servers: [] }
          : { code: status, type, message };
      response.writeHead(request.method === 'GET' ? 200 : status).end(JSON.stringify(body));
    });
    const variables = { TSIGIL_URL: url, TSIGIL_TOKEN: 't' };
    return (await runInside({ variables }, 'tsigkey', 'set', 'k', '--name', 'other')).err;
  }

  test('409 says what stands in the way, and only for a missing resource how to list all', async () => {
    const listing = /tsigil tsigkey list/;
    expect(await refusedWith(409, 'rotation_state', 'The key is in another state')).toBe(
      'tsigil: The key is in another state\n',
    );
    expect(await refusedWith(409, 'duplicate_tsigkey', "Duplicate TsigKey: it is 'other'")).toBe(
      "tsigil: Duplicate TsigKey: it is 'other'\n",
    );
    expect(await refusedWith(409, 'duplicate_tsigkey', 'Duplicate TsigKey')).toBe(
      "tsigil: Duplicate TsigKey\nA tsigkey named 'other' already exists.\n",
    );
    expect(await refusedWith(404, 'tsigkey_not_found', 'Could not find TsigKey')).toMatch(listing);
  });
});
