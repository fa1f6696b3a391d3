import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { endOfTurn } from '../harness/client.ts';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService, temporaryFolder } from '../harness/service.ts';
import { createZone, primary } from '../harness/zones.ts';
import { runInside } from '../cli/session.ts';
import { words } from '../cli/run.ts';

const folder = temporaryFolder();
const SECRETS = [
  'MkLlQSz1yhJLSUHVxCAZzsDrVkMFS+AfUVBFjwYvxYg=',
  '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=',
  'u8BX0vJb3vKZb3vWl4b5lq0nJ5tq3v1yq0e8xw7m2nQ=',
];
const keyOf = (name: string, index = 0) =>
  `key "${name}" { algorithm hmac-sha256; secret "${SECRETS[index] ?? ''}"; };\n`;
const zoneOf = (name: string, statements: string) =>
  `zone "${name}" { type primary; file "x"; ${statements} };\n`;

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

async function importText(text: string, ...argv: string[]) {
  const path = join(folder, 'named.conf');
  writeFileSync(path, text);
  const run = await runInside(
    { variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token } },
    ...words`tsigkey import ${path} --pool ${POOL_ID}`,
    ...argv,
  );
  const plain = (part: string) => part.replaceAll(`${folder}/`, '');
  for (const secret of SECRETS) expect(run.out + run.err).not.toContain(secret);
  return { status: run.status, out: plain(run.out), err: plain(run.err) };
}

/** Returns the grants of each key, with the names of zones instead of their ids. */
async function grants(): Promise<Record<string, unknown>> {
  const zones = (await service.get('/v2/zones')).body as { zones: { id: string; name: string }[] };
  const nameOf = (id: string) => zones.zones.find((each) => each.id === id)?.name ?? id;
  const { tsigkeys } = (await service.get('/v2/tsigkeys?sort_key=name')).body as {
    tsigkeys: { id: string; name: string }[];
  };
  const found: Record<string, unknown> = {};
  for (const { id, name } of tsigkeys) {
    const { body } = await service.get(`/v2/tsigkeys/${id}/grants`);
    const own = (body as { grants: { rights: string[]; zones: string[] | 'all' }[] | null }).grants;
    found[name] =
      own === null
        ? null
        : own.map(({ rights, zones: ids }) => [
            rights.join(),
            ids === 'all' ? ids : ids.map(nameOf).sort().join(),
          ]);
  }
  return found;
}

const zone = (name: string) => createZone(service, primary(name));

describe('a configuration that says where its keys are used', () => {
  const CONFIGURATION = `${keyOf('one')}${keyOf('two', 1)}${keyOf('rndc-key', 2)}
acl inside { 10.0.0.0/8; };
${zoneOf('a.example', 'allow-transfer { key one; key two; }; allow-update { key two; };')}${zoneOf('b.example', 'allow-transfer { !{ !inside; any; }; key one; };')}${zoneOf('c.example', 'allow-transfer { inside; key two; };')}`;

  test('exits with 0, and each key opens what it opened before', async () => {
    for (const name of ['a.example.', 'b.example.', 'c.example.', 'd.example.']) await zone(name);
    const { status, out } = await importText(CONFIGURATION);
    expect({ status, out }).toEqual({
      status: 0,
      out: `line 1: added: one
line 2: added: two
line 3: left out: rndc-key: rndc controls the server with this key
named.conf:7: left in your configuration: one: transfer of b.example: the list permits this key only from certain addresses
zones: warning: transfer of c.example needs no key from 10.0.0.0/8
2 added, 1 left out, 1 left in your configuration, 1 warning
`,
    });
    expect(await grants()).toEqual({
      one: [['transfer', 'a.example.']],
      two: [
        ['transfer', 'c.example.'],
        ['transfer,update', 'a.example.'],
      ],
    });
    expect((await importText(CONFIGURATION)).out).toMatch(/^2 unchanged, 1 left out/m);
  });

  test('exits with 0 without zones with data, and its keys open nothing', async () => {
    await zone('a.example.');
    const text = `${keyOf('one')}options { allow-transfer { key one; }; };\nzone "f" { type forward; };\n`;
    const { status, out, err } = await importText(text, '--yes');
    expect([status, err]).toEqual([0, '']);
    expect(out).toContain(': warning: the configuration contains no zone with data');
    expect(await grants()).toEqual({ one: [] });
  });

  test('a repeated import changes nothing, also if the service lacks a zone of a key', async () => {
    await zone('a.example.');
    expect((await importText(CONFIGURATION)).out).toContain('2 added');
    const again = await importText(CONFIGURATION, '--update');
    expect([again.status, again.out]).toEqual([0, expect.stringContaining('2 unchanged')]);
    const created = await importText(CONFIGURATION, '--update', '--create-zones');
    expect(created.out).toContain('zones: 1 added; keys: 1 unchanged, 1 updated');
    expect((await grants()).two).toEqual([
      ['transfer', 'c.example.'],
      ['transfer,update', 'a.example.'],
    ]);
  });

  test('prints rights before and after with --dry-run, and changes nothing', async () => {
    for (const name of ['a.example.', 'b.example.']) await zone(name);
    const { status, out } = await importText(CONFIGURATION, '--dry-run');
    expect(status).toBe(0);
    expect(out).toContain(`key\tright\tbefore\tafter
one\ttransfer\ta.example; limited: b.example\ta.example
two\ttransfer\ta.example, c.example\ta.example
two\tupdate\ta.example\ta.example
`);
    expect(out).toContain(
      'zones: warning: not in the service, so no key gets rights there: c.example.; use --create-zones\n',
    );
    expect(await grants()).toEqual({});
  });

  test('widens a right only for the keys of --widen, and refuses a key without one', async () => {
    for (const name of ['a.example.', 'b.example.', 'c.example.']) await zone(name);
    const refused = await importText(CONFIGURATION, '--widen', 'two');
    expect([refused.status, refused.err]).toEqual([
      2,
      "tsigil: Cannot use --widen with 'two': this key has no right that stays in the configuration. Omit --widen.\n",
    ]);
    expect((await importText(CONFIGURATION, '--widen', 'ONE.')).status).toBe(0);
    expect((await grants()).one).toEqual([['transfer', 'a.example.,b.example.']]);
  });

  test('refuses --widen of a key that the import leaves out, and changes nothing', async () => {
    const controls = 'controls { inet 127.0.0.1 allow { any; } keys { one; }; };\n';
    const text = `${controls}${keyOf('one')}${zoneOf('a.example', 'allow-transfer { !10/8; key one; };')}`;
    expect(await importText(text, '--widen', 'one', '--create-zones')).toEqual({
      status: 2,
      out: '',
      err: "tsigil: Cannot use --widen with 'one': the import gives this key no right, because this key controls the server. Omit --widen.\n",
    });
    expect(await grants()).toEqual({});
  });

  test('shows the rights that an existing key keeps, and none of a key of another pool', async () => {
    for (const name of ['a.example.', 'b.example.']) await zone(name);
    const members = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL_ID };
    await service.post('/v2/tsigkeys', { name: 'one', secret: SECRETS[0], ...members });
    const { body: pool } = await service.post('/v2/pools', { name: 'other' });
    const elsewhere = { ...members, name: 'two', secret: SECRETS[1], resource_id: pool.id };
    await service.post('/v2/tsigkeys', elsewhere);
    const { status, out } = await importText(CONFIGURATION, '--dry-run');
    expect(status).toBe(1);
    expect(out).toContain(
      'line 2: different: two already exists for another pool or zone; it was not changed\n',
    );
    expect(out).toContain(`key\tright\tbefore\tafter
one\ttransfer\ta.example; limited: b.example\ta.example, b.example
one\tupdate\tnone\ta.example, b.example
`);
    expect(out).not.toContain('two\t');
  });

  test('exits with 1 for an existing key with other grants, and replaces them with --update', async () => {
    await zone('a.example.');
    const text = `${keyOf('one')}${zoneOf('a.example', 'allow-transfer { key one; };')}`;
    const members = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL_ID };
    await service.post('/v2/tsigkeys', { name: 'one', secret: SECRETS[0], ...members });
    const { status, out } = await importText(text);
    expect([status, out]).toEqual([
      1,
      'line 1: different: one already exists with other grants; use --update to replace them\n',
    ]);
    expect(await grants()).toEqual({ one: null });
    expect((await importText(text, '--update')).out).toContain('line 1: updated: one\n');
    expect(await grants()).toEqual({ one: [['transfer', 'a.example.']] });
  });

  test('an update narrows a key before it changes the secret, and widens it only afterwards', async () => {
    for (const name of ['a.example.', 'b.example.']) await zone(name);
    const text = (index: number, statements: string) =>
      `${keyOf('one', index)}${zoneOf('a.example', statements)}${zoneOf('b.example', 'allow-transfer { key one; };')}`;
    await importText(text(0, 'allow-transfer { key one; };'));
    const start = service.log.length;
    expect((await importText(text(1, 'allow-update { key one; };'), '--update')).status).toBe(0);
    await endOfTurn();
    const changes = service.log.slice(start).flatMap((line) => {
      const [, change] = /"method":"((?:PUT|PATCH))"/.exec(line) ?? [];
      return change === undefined ? [] : [change];
    });
    expect(changes).toEqual(['PUT', 'PATCH', 'PUT']);
    expect(await grants()).toEqual({
      one: [
        ['transfer', 'b.example.'],
        ['update', 'a.example.'],
      ],
    });
  });

  test('imports a key of more zones than a request to create a key can contain', async () => {
    const names = Array.from({ length: 2400 }, (_, index) => `z${index}.example`);
    for (let index = 0; index < names.length; index += 100)
      await Promise.all(names.slice(index, index + 100).map((name) => zone(`${name}.`)));
    const both = 'allow-transfer { key one; }; allow-update { key one; };';
    const text = `${keyOf('one')}${names.map((name) => zoneOf(name, both)).join('')}`;
    expect((await importText(text)).out).toContain('line 1: added: one\n');
    const [[rights, ids] = []] = (await grants()).one as [string, string][];
    expect([rights, ids?.split(',').length]).toEqual(['transfer,update', 2400]);
    expect((await importText(text)).out).toContain('1 unchanged');
  }, 180_000);

  test('with --zone, a key gets its rights in this zone only', async () => {
    await zone('a.example.');
    const path = join(folder, 'one-zone.conf');
    writeFileSync(path, CONFIGURATION);
    const importIntoZone = (...argv: string[]) =>
      runInside(
        { variables: { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token } },
        ...words`tsigkey import ${path} --zone a.example.`,
        ...argv,
      );
    const refused = await importIntoZone('--create-zones');
    expect([refused.status, refused.err]).toEqual([
      2,
      'tsigil: Cannot use --create-zones for keys of one zone\nOmit --create-zones, or apply the keys to a pool with --pool.\n',
    ]);
    const { status, out } = await importIntoZone();
    expect(status).toBe(0);
    expect(out).toContain(
      ': warning: outside the scope of the keys, so no key gets rights there: c.example.\n',
    );
    expect((await importIntoZone()).out).toContain('2 unchanged');
    expect(await grants()).toEqual({
      one: [['transfer', 'a.example.']],
      two: [['transfer,update', 'a.example.']],
    });
  });

  test('warns of a key that the configuration uses nowhere', async () => {
    const text = `${keyOf('one')}${zoneOf('a.example', 'allow-transfer { none; };')}`;
    expect((await importText(text, '--dry-run')).out).toContain(
      'named.conf:1: warning: one: the configuration uses it nowhere\n',
    );
  });

  test('prints the plan as JSON with -f json', async () => {
    await zone('a.example.');
    const { status, out } = await importText(CONFIGURATION, '--dry-run', '-f', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      items: expect.arrayContaining([{ outcome: 'added', text: 'one', place: 'line 1' }]),
      rights: [
        { key: 'one', right: 'transfer', limited: ['b.example'], after: ['a.example'] },
        { key: 'two', right: 'transfer', before: ['a.example', 'c.example'] },
        { key: 'two', right: 'update', limited: [] },
      ],
      left_in_configuration: [
        { key: 'one', right: 'transfer', zones: ['b.example'], partial: true },
      ],
      missing_zones: ['c.example'],
      open: [{ right: 'transfer', zones: ['c.example'], addresses: ['10.0.0.0/8'] }],
      warnings: [{ kind: 'missing_zone' }, { kind: 'open' }],
    });
  });

  test('exits with 2 for --widen and --create-zones with a file of keys', async () => {
    const { status, err } = await importText(keyOf('one'), '--create-zones');
    expect([status, err]).toEqual([
      2,
      'tsigil: Cannot use --widen or --create-zones: the source does not say where its keys are used\nOmit both flags, or import the main configuration file of the name server.\n',
    ]);
  });
});

describe('--dry-run with --create-zones', () => {
  const names = (text: string) =>
    text
      .split(' ')
      .map((name) => zoneOf(name, ''))
      .join('');
  const withKey = (text: string) =>
    `options { allow-transfer { key one; }; };\n${keyOf('one')}${names(text)}`;
  /** Returns the report of an import, without the table and the note of a dry run. */
  const reportOf = (out: string) =>
    out
      .replace(/^key\tright\t[^]*?\n(?=\S*: |zones: |keys: |\d|$)/m, '')
      .replace(' (dry run: nothing was changed)', '');

  /** Imports first with --dry-run, and expects the same report of the import. */
  async function both(text: string) {
    const dry = await importText(text, '--dry-run', '--create-zones');
    expect(await grants()).toEqual({});
    const real = await importText(text, '--create-zones');
    const plain = (run: typeof dry) => [run.status, reportOf(run.out), reportOf(run.err)];
    expect(plain(dry)).toEqual(plain(real));
    return dry;
  }

  const SLASH = '0/27.2.0.192.in-addr.arpa';
  test('prints what the import does with names that no zone can have, and exits with 1', async () => {
    const { status, out, err } = await both(withKey(`ok.example ${SLASH} single .`));
    expect(status).toBe(1);
    expect(out.match(/: refused: zone .*: /g)).toHaveLength(3);
    expect(out).toMatch(/^one\ttransfer\t.*\tok.example$/m);
    expect(err).toContain('zones: 1 added, 3 refused; keys: 1 added');
    expect(await grants()).toEqual({ one: [['transfer', 'ok.example.']] });
  });

  test('prints which zones are outside the TLD entries, or are one', async () => {
    for (const name of ['com', 'arpa', 'co.com']) await service.post('/v2/tlds', { name });
    const { status, out } = await both(
      withKey('a.com a.lan co.com 2.0.192.in-addr.arpa 0.in-addr.arpa'),
    );
    expect(status).toBe(1);
    expect(out).toContain(": refused: zone a.lan.: Invalid TLD: no TLD entry for 'lan'");
    expect(out).toContain(': refused: zone co.com.: Zone name cannot be the same as a TLD');
    expect(out).toContain(
      'one\ttransfer\ta.com, a.lan, co.com, 2.0.192.in-addr.arpa, 0.in-addr.arpa\ta.com, 2.0.192.in-addr.arpa\n',
    );
  });

  test('prints that a zone of another pool has the name', async () => {
    const pool = await service.post('/v2/pools', {
      name: 'other',
      ns_records: [{ hostname: 'ns.example.', priority: 1 }],
    });
    expect(pool.status, pool.text).toBe(201);
    await createZone(service, { ...primary('a.example.'), pool_id: String(pool.body.id) });
    const { status, out } = await both(withKey('a.example b.example'));
    expect([status, out]).toEqual([
      1,
      expect.stringContaining('zone a.example.: a zone of another pool has this name') as string,
    ]);
  });

  test('skips the zones of a default configuration with one line, and exits with 0', async () => {
    const builtIn = 'localhost 127.in-addr.arpa 0.in-addr.arpa 255.in-addr.arpa';
    const { status, out } = await both(
      `${withKey(`a.example ${builtIn}`)}zone "." { type hint; file "/usr/share/dns/root.hints"; };\n`,
    );
    expect(status).toBe(0);
    const line = `zones: left out: zones of the name server itself, in which no key gets rights: ${builtIn.replaceAll(' ', ', ')}\n`;
    expect(out).toContain(line);
    expect(out).toContain('zones: 1 added, 1 left out; keys: 1 added');
    expect(out).not.toContain('refused');
    // Also if no key has a right there.
    const closed = await importText(`${keyOf('two', 1)}${names(builtIn)}`, '--create-zones');
    expect([closed.status, closed.out]).toEqual([0, expect.stringContaining(line) as string]);
  });
});
