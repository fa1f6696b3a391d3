import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import type { Key } from '../../src/formats/key.ts';
import { NAME_SERVERS } from '../harness/name-servers.ts';
import { create, itemsOf, POOL_ID, SECRET, TSIGKEYS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService, temporaryFolder } from '../harness/service.ts';
import { runInside } from '../cli/session.ts';
import { words } from '../cli/run.ts';

const folder = temporaryFolder();

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const secretOf = (name: string) => createHash('sha512').update(name).digest('base64');
const OTHER_SECRET = secretOf('other');
const APPLIES_TO = ['--pool', POOL_ID, '--yes'];
/** What the command prints before it imports keys into a pool without zones. */
const reach = (names: string) =>
  `The new key${names.includes(',') ? 's' : ''} ${names} will${names.includes(',') ? ' each' : ''} open every zone of the pool (now 0), not only the zones that ${names.includes(',') ? 'they open' : 'it opens'} on the name server today.\n`;
const key = (name: string, members: Partial<Key> = {}): Key => ({
  name,
  algorithm: 'hmac-sha256',
  secret: SECRET,
  ...members,
});

function tsigil(input: string, variables: Record<string, string>, ...argv: string[]) {
  return runInside(
    { input, variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token, ...variables } },
    ...argv,
  );
}
const importText = (input: string, ...argv: string[]) =>
  tsigil(input, {}, 'tsigkey', 'import', '-', ...APPLIES_TO, ...argv);
const kept = async () =>
  itemsOf(await service.get('/v2/tsigkeys?sort_key=name'), TSIGKEYS).map(
    ({ name, algorithm, secret }) => ({ name, algorithm, secret }),
  );

describe('files', () => {
  test('exits with 130 after Ctrl-C, and prints the number of imported keys', async () => {
    const lines = ['one', 'two', 'three'].map((name) => `hmac-sha256:${name}:${SECRET}`).join('\n');
    const onInterrupt = (stop: () => void) => {
      stop();
      return () => undefined;
    };
    const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
    const ended = await runInside(
      { input: lines, variables, onInterrupt },
      'tsigkey',
      'import',
      '-',
      ...APPLIES_TO,
    );
    expect(ended).toMatchObject({
      status: 130,
      out: '',
      err: `${reach('one, two, three')}tsigil: Stopped after 0 of 3 keys\n`,
    });
    expect(await kept()).toEqual([]);
  });

  test('exits with 1 and prints the outcome and the line of each key: added, unchanged, different, invalid, left out', async () => {
    await create(service, TSIGKEYS, 'Same.');
    await service.post('/v2/tsigkeys', { ...TSIGKEYS.body('other'), secret: secretOf('former') });
    const { status, out, err } = await importText(
      `hmac-sha256:new:${secretOf('new')}\nhmac-sha256:same:${SECRET}\n\nhmac-sha512:other:${OTHER_SECRET}\nhmac-sha9:odd:${SECRET}\nhmac-sha256:NEW.:${secretOf('new')}\nhmac-sha256:Tsigil-Stamp-0d6b6b5c.:${SECRET}\n`,
    );
    expect(status).toBe(1);
    expect(out).toBe(`line 1: added: new
line 2: unchanged: same
line 4: different: other already exists with a different algorithm and secret; use --update to replace it
line 5: invalid: the algorithm must be one of hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512
line 6: invalid: NEW. is a duplicate of the key at line 1
line 7: left out: Tsigil-Stamp-0d6b6b5c.: Tsigil itself creates this key on the name server
`);
    expect(err).toBe(
      `${reach('new')}tsigil: 1 added, 1 unchanged, 1 left out, 1 different, 2 invalid\n`,
    );
    expect(await kept()).toEqual([
      key('new', { secret: secretOf('new') }),
      key('other', { secret: secretOf('former') }),
      key('Same.'),
    ]);
  });

  test('exits with 0 and changes algorithms and secrets, but no names or ids, with --update', async () => {
    const { id } = await create(service, TSIGKEYS, 'Other');
    const { status, out } = await importText(`hmac-sha512:other:${OTHER_SECRET}\n`, '--update');
    expect([status, out]).toEqual([0, 'line 1: updated: other\n1 updated\n']);
    expect((await service.get(`/v2/tsigkeys/${id}`)).body).toMatchObject({
      name: 'Other',
      algorithm: 'hmac-sha512',
      secret: OTHER_SECRET,
    });
  });

  test.each([[[]], [['--update']]])(
    'exits with 0, prints the outcome and changes nothing with --dry-run and %j',
    async (flags) => {
      await create(service, TSIGKEYS, 'other');
      const before = await service.get('/v2/tsigkeys');
      const text = `hmac-sha256:new:${SECRET}\n${flags.length === 0 ? '' : `hmac-sha512:other:${OTHER_SECRET}\n`}`;
      const dry = await importText(text, '--dry-run', ...flags);
      expect(dry.status).toBe(0);
      expect(dry.out).toContain(' (dry run: nothing was changed)');
      expect((await service.get('/v2/tsigkeys')).text).toBe(before.text);
      const { out } = await importText(text, ...flags);
      expect(dry.out.replace(' (dry run: nothing was changed)', '')).toBe(out);
    },
  );

  test('exits with 1 and prints the reason for a key that the service refuses', async () => {
    await service.close();
    service = await startTestService({ TSIGIL_TSIGKEYS_REQUIRE_RESOURCE: 'true' });
    const { status, out } = await tsigil(
      `hmac-sha256:a:${SECRET}\n`,
      {},
      ...words`tsigkey import - --zone ${POOL_ID}`,
    );
    expect(status).toBe(1);
    expect(out).toMatch(
      /^line 1: refused: a: The resource_id .* is not the id of an existing zone/,
    );
  });

  test('exits with 0, and warns of weak, published and repeated secrets', async () => {
    await create(service, TSIGKEYS, 'existing');
    const zeros = Buffer.alloc(32).toString('base64');
    const { status, out } = await importText(
      `hmac-md5:old:${secretOf('old')}\nhmac-sha256:zeros:${zeros}\nhmac-sha1:again:${secretOf('old')}\nhmac-sha256:copy:${SECRET}\n`,
    );
    expect(status).toBe(0);
    expect(out.split('\n').slice(4, -2)).toEqual([
      'line 1: warning: old: hmac-md5 must not be used (RFC 8945 section 6)',
      'line 2: warning: zeros: its secret repeats a few octets',
      'line 3: warning: again: hmac-sha1 is not recommended (RFC 8945 section 6)',
      'line 2: warning: zeros: its secret is published (placeholder of 32 zero octets), so anyone can sign with it',
      'line 3: warning: again: it has the same secret as old',
      'line 4: warning: copy: it has the same secret as existing, which the service has',
    ]);
    expect(out).toContain('4 added, 6 warnings');
    expect(out).not.toContain(SECRET);
  });

  test('exits with 1 for invalid text, prints the line without the secret, and imports nothing', async () => {
    const { status, out, err } = await importText(
      `key a { algorithm hmac-sha256; secret "${SECRET}"; };\nkey b {\n  secret "${SECRET}"\n`,
    );
    expect([status, out]).toEqual([1, '']);
    expect(err).toContain('Nothing was imported: line 3:');
    expect(err).not.toContain(SECRET.slice(0, 8));
    expect(await kept()).toEqual([]);
  });

  test.each([
    ['hello', [], 'Unrecognised key file format'],
    ['', [], 'Unrecognised key file format'],
    [`hmac-sha256:a:${SECRET}`, ['--format', 'yaml'], 'Allowed choices are json, csv, bind'],
    [
      `hmac-sha256:a:${SECRET}`,
      ['--from-powerdns', 'http://127.0.0.1:1'],
      'Set exactly one source',
    ],
  ])('exits with 2 for the input %j with the flags %j', async (input, flags, message) => {
    const { status, out, err } = await importText(input, ...flags);
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain(message);
  });
});

describe('the output of a client', () => {
  const COLUMNS = ['resource_id', 'scope', 'secret', 'name', 'algorithm', 'id'] as const;
  const row = (name: string, scope: string, resourceId: string, secret = secretOf(name)) => ({
    id: UNKNOWN_ID,
    name,
    algorithm: 'hmac-sha256',
    secret,
    scope,
    resource_id: resourceId,
  });
  const csv = (rows: readonly ReturnType<typeof row>[]) =>
    `${COLUMNS.map((name) => `"${name}"`).join(',')}\n${rows
      .map((each) => `${COLUMNS.map((name) => `"${each[name]}"`).join(',')}\n`)
      .join('')}`;
  const importRows = (input: string, ...argv: string[]) =>
    tsigil(input, {}, 'tsigkey', 'import', '-', ...argv);
  const targets = async () =>
    (
      (await service.get('/v2/tsigkeys?sort_key=name')).body.tsigkeys as Record<string, unknown>[]
    ).map(({ name, scope, resource_id }) => [name, scope, resource_id]);
  const zone = async () => {
    const body = { name: 'a.example.', email: 'a@example.org' };
    return String((await service.post('/v2/zones', body)).body.id);
  };
  const WARNING =
    'keys: warning: no client lists the grants of keys, so each new key has every right in its pool or zone\n';

  test('exits with 1 with --pool, and does not make a key of one zone one of a pool', async () => {
    const rows = [row('wide', 'POOL', UNKNOWN_ID), row('narrow', 'ZONE', await zone())];
    const { status, out, err } = await importRows(csv(rows), '--pool', 'default', '--yes');
    expect([status, out]).toEqual([
      1,
      `line 2: added: wide\nline 3: invalid: narrow: the key applies to one zone, and would open every zone of the pool; import it with --zone, or without --pool\n${WARNING}`,
    ]);
    expect(err).toContain('1 added, 1 invalid, 1 warning');
    expect(await targets()).toEqual([['wide', 'POOL', POOL_ID]]);
  });

  test.each(['json', 'csv'])('exits with 0 for what tsigil itself lists as %s', async (format) => {
    const other = await startTestService();
    const secret = '+/+/c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MTI=';
    await other.post('/v2/tsigkeys', { ...TSIGKEYS.body('plus'), secret });
    const listed = await tsigil(
      '',
      { TSIGIL_URL: other.url, TSIGIL_TOKEN: other.token },
      ...words`tsigkey list --reveal -f ${format}`,
    );
    expect((await importRows(listed.out, '--yes')).status).toBe(0);
    expect(await kept()).toEqual([key('plus', { secret })]);
  });
});

const powerdns = NAME_SERVERS.find(({ name }) => name === 'PowerDNS');
describe.runIf(powerdns?.isInstalled())('PowerDNS', () => {
  test('exits with 0 and imports every key from the API; exits with 3 for a wrong API key', async () => {
    const allowed = key('allowed');
    const others = [
      key('second.example', { algorithm: 'hmac-sha512' }),
      key('third', { algorithm: 'hmac-md5' }),
    ];
    const stamp = key('tsigil-stamp-0d6b6b5c-7a30-4c1c-9c1e-3f0f8f0a3f11');
    const server = await powerdns?.start({ allowed, others: [...others, stamp] });
    const { url = '', key: apiKey = '' } = server?.api ?? {};
    const imported = (variables: Record<string, string>) =>
      tsigil('', variables, 'tsigkey', 'import', '--from-powerdns', url, ...APPLIES_TO);
    const { status, out, err } = await imported({ PDNS_API_KEY: apiKey });
    expect([status, out.split('\n').at(-2)]).toEqual([
      0,
      '3 added, 1 left out, 1 left in your configuration, 7 warnings',
    ]);
    expect(out).toContain(
      `left out: ${stamp.name}: Tsigil itself creates this key on the name server`,
    );
    // The configuration of PowerDNS says what the keys open, so the import need not ask.
    expect(out).toContain('left in your configuration: allowed: update of a.test: ');
    expect(err).toBe(
      'Warning: second.example: the secret is shorter than the output of hmac-sha512 (RFC 2104 section 3)\n' +
        'Warning: third: hmac-md5 must not be used (RFC 8945 section 6)\n',
    );
    expect(await kept()).toEqual([allowed, ...others]);
    const refused = await imported({ PDNS_API_KEY: 'wrong' });
    expect(refused.status).toBe(3);
    expect(refused.err).toContain('rejected the API key');
    expect((await imported({})).status).toBe(2);
  });
});

describe('include statements', () => {
  const importFile = (file: string, ...argv: string[]) =>
    tsigil('', {}, 'tsigkey', 'import', file, ...APPLIES_TO, ...argv);
  const bindKey = (name: string) => exportKey('bind', key(name, { secret: secretOf(name) })).text;
  function write(files: Readonly<Record<string, string>>): string {
    const inside = mkdtempSync(join(folder, 'includes-'));
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(inside, name), text.replaceAll('{}', inside));
    return inside;
  }

  test('exits with 0, imports the keys of included files, and prints the files on standard error', async () => {
    const inside = write({
      main: 'include "{}/a";\n',
      a: `include "{}/b"; ${bindKey('a')}`,
      b: bindKey('b'),
    });
    const { status, out, err } = await importFile(`${inside}/main`);
    expect({ status, out, err }).toEqual({
      status: 0,
      out: `${inside}/b:1: added: b\n${inside}/a:1: added: a\n2 added\n`,
      err: `Read '${inside}/a', included at ${inside}/main:1\nRead '${inside}/b', included at ${inside}/a:1\n${reach('b, a')}`,
    });
    expect((await kept()).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('exits with 1 for a file that is not read, prints its line, and imports the other keys', async () => {
    const { status, out } = await importText(`include "keys.conf";\n${bindKey('a')}`);
    expect([status, out]).toEqual([
      1,
      "line 1: not read: 'keys.conf' is a relative path, and standard input has no folder; import the file by its name instead\nline 2: added: a\n",
    ]);
  });

  test('reads at most 1,000 included files, even if each file includes the next file twice', async () => {
    const files = Array.from({ length: 30 }, (_, index) => [
      String(index),
      `include "{}/${index + 1}"; include "{}/${index + 1}";`,
    ]);
    const inside = write({ ...Object.fromEntries(files), 30: bindKey('a') });
    const { status, out } = await importFile(`${inside}/0`);
    expect(status).toBe(1);
    expect(out).toContain('exceeds the limit of 1000 included files');
  });
});

describe('keys of a pool', () => {
  const LINES = ['one', 'two'].map((name) => `hmac-sha256:${name}:${secretOf(name)}\n`).join('');
  const ASK = ['tsigkey', 'import', '-', '--pool', 'default'];
  const zones = async (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const name = `z${String(index).padStart(2, '0')}.example.`;
      await service.post('/v2/zones', { name, email: 'a@example.org' });
    }
  };

  test('exits with 2 and imports nothing without a terminal, and prints the zones that each key would open', async () => {
    await zones(12);
    const { status, out, err } = await tsigil(LINES, {}, ...ASK);
    expect([status, out, await kept()]).toEqual([2, '', []]);
    expect(err).toBe(
      'The new keys one, two will each open every zone of the pool (now 12: z00.example., z01.example., z02.example., z03.example., z04.example., z05.example., z06.example., z07.example., z08.example., z09.example., and 2 more), not only the zones that they open on the name server today.\n' +
        'tsigil: Cannot ask for confirmation: standard input is not a terminal. Nothing was changed.\nUse --yes to go ahead.\n',
    );
  });

  test('does not ask for one zone, for a dry run, or without new keys', async () => {
    await zones(1);
    expect((await tsigil(LINES, {}, ...ASK, '--dry-run')).status).toBe(0);
    expect(
      await tsigil(LINES, {}, 'tsigkey', 'import', '-', '--zone', 'z00.example.'),
    ).toMatchObject({ status: 0, err: '' });
    expect(await tsigil(LINES, {}, ...ASK)).toMatchObject({
      status: 0,
      err: '',
      out: 'line 1: unchanged: one\nline 2: unchanged: two\n2 unchanged\n',
    });
  });
});
