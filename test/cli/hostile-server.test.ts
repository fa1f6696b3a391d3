import { type ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { runInside } from './session.ts';
import { serve } from '../harness/connections.ts';

/** Text that clears the screen in three ways, forges a line and reverses the text direction. */
const NASTY = '\x1b[2J\u009b2J\x1bc\r\ntsigil: forged\u202e\u2066\x07=1';
const NASTY_HEADER = Buffer.from('\u009b2J', 'latin1').toString('latin1');
const ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const OTHER_ID = 'a86dba58-0043-4cc6-a1bb-69d5e86f3ca3';

const folder = temporaryFolder();
let url: string;
/** The kind of response that the server currently returns. */
let responseKind: 'success' | 'refusal' | 'page';

beforeAll(async () => {
  url = await serve((request, response) => {
    request.resume().on('end', () => respond(request.method ?? '', request.url ?? '', response));
  });
});

function respond(method: string, path: string, response: ServerResponse): void {
  if (responseKind === 'page') {
    response
      .writeHead(500, `Oh ${NASTY_HEADER}`, { 'x-openstack-request-id': NASTY_HEADER })
      .end(`<html>${NASTY}</html>`);
  } else if (responseKind === 'refusal') {
    const headers = { 'x-openstack-request-id': NASTY_HEADER, 'retry-after': NASTY_HEADER };
    response
      .writeHead(429, headers)
      .end(JSON.stringify({ message: NASTY, error: { message: NASTY }, type: NASTY }));
  } else {
    response.writeHead(200).end(JSON.stringify(bodyFor(method, path)));
  }
}

function bodyFor(method: string, path: string): unknown {
  const item = (id: string) => {
    const texts = [
      'name',
      'description',
      'algorithm',
      'scope',
      'resource_id',
      'token',
      'email',
      'status',
      'type',
      'action',
      'project_id',
    ];
    const text = Object.fromEntries(texts.map((member) => [member, NASTY]));
    const records = [{ priority: NASTY, hostname: NASTY }];
    return {
      id,
      ...text,
      secret: NASTY,
      code: NASTY,
      expires_at: '2030-01-31T12:00:00.000000',
      key: NASTY,
      roles: [NASTY],
      attributes: { [NASTY]: NASTY },
      masters: [NASTY],
      ns_records: records,
    };
  };
  if (path.endsWith('/bulk')) {
    const counts = { added: 1, unchanged: 0, updated: 1, refused: 1, removed: 1 };
    const results = ['added', 'updated', 'refused'].map((outcome, index) => ({
      index,
      outcome,
      name: NASTY,
      message: NASTY,
      previous: { description: NASTY },
    }));
    return { counts, results, removed: [{ name: NASTY }] };
  }
  if (path.includes('/servers/localhost/tsigkeys'))
    return path.endsWith('tsigkeys') ? [{ id: NASTY }] : item(ID);
  const collection = /^\/v2\/(\w+)(?:\?|$)/.exec(path)?.[1];
  return method === 'GET' && collection !== undefined
    ? { [collection]: [item(ID), item(NASTY)], links: {} }
    : item(ID);
}

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const list = file('list.txt', `com\nnet\n${NASTY}\norg\n`);
const csv = file('list.csv', `com,"${NASTY}"\nnet,"${NASTY}"\n${NASTY},x\n`);
const keys = file(
  'keys.conf',
  `key "${NASTY.replaceAll(/[\r\n]/g, '')}" { algorithm hmac-sha256; secret "c2VjcmV0"; };\n`,
);
const rows = file(
  'keys.json',
  JSON.stringify([
    { name: NASTY, algorithm: NASTY, secret: 'c2VjcmV0', scope: 'POOL', resource_id: ID },
  ]),
);
const scope = ['--pool', OTHER_ID];

const nouns = ['tld', 'tsigkey', 'zone', 'pool'];
const commands: string[][] = [
  ...nouns.flatMap((noun) => [
    ...['table', 'yaml', 'json', 'csv', 'value'].flatMap((format) => [
      [noun, 'list', '-f', format],
      [noun, 'show', ID, '-f', format],
    ]),
    [noun, 'show', NASTY],
    [noun, 'delete', ID, OTHER_ID],
    [noun, 'delete', NASTY],
    [noun, 'nosuch', NASTY],
  ]),
  ['tld', 'create', '--name', 'com'],
  ['tld', 'set', ID, '--description', NASTY],
  ['tld', 'import', list],
  ['tld', 'import', list, '--dry-run'],
  ['tld', 'import', csv],
  ['tld', 'import', csv, '--all-or-nothing'],
  ['tld', 'import', list, '--replace'],
  ['tld', 'import', list, '--replace', '--yes'],
  ['console'],
  ['tsigkey', 'export', ID, '--format', 'bind'],
  ['tsigkey', 'verify', ID, '--server', '127.0.0.1:1', '--zone', 'example.org'],
  ['tsigkey', 'grants', ID],
  ['tsigkey', 'uses', ID],
  ['tsigkey', 'grants', ID, '--zone', ID, '--right', 'transfer'],
  ['tsigkey', 'import', keys, ...scope],
  ['tsigkey', 'import', rows, '--yes'],
  ['tsigkey', 'import', keys, ...scope, '--yes'],
  ['tsigkey', 'import', keys, ...scope, '--format', 'knot', '--yes'],
  ['tsigkey', 'import', '--from-powerdns', 'URL', ...scope, '--yes'],
  ['token', 'list'],
  ['token', 'create', '--name', 'x', '--role', 'admin'],
  ['token', 'revoke', ID],
  ['token', 'revoke', NASTY],
  ['tld', 'list', '--url', `http://127.0.0.1:1/${NASTY}`],
  ['tld', 'list', '--url', NASTY],
  ['--debug', 'tld', 'show', NASTY],
];

describe('no control character from a server or a file reaches the terminal', () => {
  test.each(['success', 'refusal', 'page'] as const)('%s', async (kind) => {
    responseKind = kind;
    const options = {
      variables: {
        TSIGIL_URL: url,
        TSIGIL_TOKEN: 'token',
        PDNS_API_KEY: 'key',
      },
    };
    for (const command of commands) {
      const argv = command.map((word) => (word === 'URL' ? url : word));
      const { out, err } = await runInside(options, ...argv);
      const printed = `${out}${err}`;
      expect({
        argv,
        control: /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u.exec(printed)?.[0],
      }).toEqual({ argv, control: undefined });
      // A line feed in a CSV cell is part of the value, because programs read CSV.
      if (!argv.includes('csv'))
        expect({
          argv,
          lines: printed.split('\n').filter((line) => line.startsWith('tsigil: forged')),
        }).toEqual({ argv, lines: [] });
    }
  });
});
