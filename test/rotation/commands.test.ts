import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { runInside } from '../cli/session.ts';
import { words } from '../cli/run.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const run = (...argv: string[]) => runInside(service, 'tsigkey', ...argv);

async function create(name: string, algorithm = 'hmac-sha256'): Promise<string> {
  const { body } = await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name, algorithm });
  return String(body.id);
}

/** Runs a command that shows a lineage, and returns its keys as `NAME STATE`. */
async function states(...argv: string[]): Promise<string[]> {
  const { status, out, err } = await run(...argv, '-f', 'json');
  expect({ status, err }).toMatchObject({ status: 0 });
  const { keys } = JSON.parse(out) as { keys: { name: string; state: string }[] };
  return keys.map(({ name, state }) => `${name} ${state}`);
}

/** Replaces a key, and returns what the command shows of the successor. */
async function rotate(...argv: string[]): Promise<Record<string, string>> {
  const { status, out, err } = await run('rotate', ...argv, '-f', 'json');
  expect({ status, err }).toMatchObject({ status: 0 });
  return JSON.parse(out) as Record<string, string>;
}

describe('one key', () => {
  test('is replaced, confirmed, retired and restored', async () => {
    await create('whole.example');
    const successor = await rotate(
      'whole.example',
      '--algorithm',
      'hmac-sha512',
      '--overlap',
      '1d',
    );
    expect(successor).toMatchObject({
      name: 'whole-r2.example',
      algorithm: 'hmac-sha512',
      secret: '(hidden)',
    });
    expect(await states('confirm', 'whole.example')).toEqual([
      'whole.example draining',
      'whole-r2.example active',
    ]);
    expect(await states('retire', 'whole.example')).toEqual([
      'whole.example retired',
      'whole-r2.example active',
    ]);
    const listed = await run('list', '-f', 'value', '-c', 'name');
    expect(listed.out.split('\n')).not.toContain('whole.example');
    expect(await states('lifecycle', 'WHOLE.example.')).toContain('whole.example retired');
    expect((await rotate('whole.example')).name).toBe('whole-r3.example');
    expect(await states('confirm', 'whole-r2.example')).toContain('whole-r2.example draining');
    expect(await states('retire', 'whole-r2.example')).toContain('whole-r2.example retired');
    const active = await run('restore', 'whole-r3.example');
    expect(active).toMatchObject({ status: 1, out: '' });
    expect(await states('restore', 'whole-r2.example')).toEqual([
      'whole.example retired',
      'whole-r2.example switching',
      'whole-r3.example active',
    ]);
  });

  test('a step that is repeated does not reach the next key of its lineage', async () => {
    await create('again.example');
    await rotate('again.example');
    expect(await states('retire', 'again.example', '--force')).toContain('again.example retired');
    await rotate('again-r2.example');
    const before = await states('lifecycle', 'again.example');
    // Nor does the name of the successor mean the key that it replaces.
    for (const name of ['again.example', 'again-r3.example'])
      for (const step of [['retire', '--force'], ['abort', '--force'], ['confirm']]) {
        const repeated = await run(...step, name);
        expect(repeated, step.join()).toMatchObject({ status: 1, out: '' });
        expect(repeated.err).toContain(
          name === 'again.example' ? "'again.example' is retired already" : 'has no successor',
        );
      }
    expect(await states('lifecycle', 'again.example')).toEqual(before);
    expect(await states('abort', 'again-r2.example', '--force')).toContain(
      'again-r2.example active',
    );
  });

  test('keeps its name in place only after a confirmation', async () => {
    const id = await create('place.example');
    const { body: before } = await service.get(`/v2/tsigkeys/${id}`);
    for (const flag of ['--in-place', '--compromised'])
      expect(await run('rotate', 'place.example', flag)).toEqual({
        status: 2,
        out: '',
        err: "tsigil: Clients of the key 'place.example' are refused until they have the new secret. Cannot ask for confirmation: standard input is not a terminal. Nothing was changed.\nUse --yes to go ahead.\n",
      });
    expect((await service.get(`/v2/tsigkeys/${id}`)).body.secret).toBe(before.secret);
    const secret = Buffer.alloc(32, 7).toString('base64');
    const done = await runInside(
      { ...service, input: secret },
      ...words`tsigkey rotate place.example --in-place --yes --secret -`,
    );
    expect(done.status).toBe(0);
    expect((await service.get(`/v2/tsigkeys/${id}`)).body).toMatchObject({
      name: 'place.example',
      secret,
    });
    const argument = await run('rotate', 'place.example', '--secret', secret);
    expect(argument).toMatchObject({ status: 2, out: '' });
    expect(argument.err).not.toContain(secret);
  });

  test('goes at once if it is compromised', async () => {
    const id = await create('leaked.example');
    expect((await rotate('leaked.example', '--compromised', '--yes')).name).toBe(
      'leaked-r2.example',
    );
    expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(404);
    const restored = await run('restore', id);
    expect(restored.status).toBe(1);
  });

  test('that is retired does not stand for the next one if that one would be cut off', async () => {
    await create('former.example');
    await rotate('former.example');
    await run('retire', 'former.example', '--force');
    for (const flag of ['--compromised', '--in-place']) {
      const refused = await run('rotate', 'former.example', flag, '--yes');
      expect(refused).toMatchObject({ status: 1, out: '' });
      expect(refused.err).toContain("The key to use now is 'former-r2.example'");
    }
    expect(await states('lifecycle', 'former.example')).toEqual([
      'former.example retired',
      'former-r2.example active',
    ]);
  });

  test('is withdrawn by abort, and exported as the current one by its handle', async () => {
    await create('current.example');
    await rotate('current.example');
    const text = await run('export', 'current.example', '--current', '--format', 'bind');
    expect(text.out).toContain('key "current-r2.example"');
    const exact = await run('export', 'current.example', '--format', 'bind');
    expect(exact.out).toContain('key "current.example"');
    // Without a name server, nothing shows whether a client uses the successor already.
    expect(await run('abort', 'current.example')).toMatchObject({ status: 1, out: '' });
    expect(await states('abort', 'current.example', '--force')).toEqual(['current.example active']);
    const again = await run('abort', 'current.example');
    expect(again).toMatchObject({ status: 1, out: '' });
    expect(again.err).toContain('has no successor');
  });
});

describe('several keys', () => {
  test('weak keys get another algorithm, and a second run finds none', async () => {
    await create('md5.example', 'hmac-md5');
    await create('sha1.example', 'hmac-sha1');
    const planned = await run('rotate', '--weak', '--dry-run', '-f', 'json');
    expect(JSON.parse(planned.out)).toMatchObject([
      { name: 'md5.example', algorithm: 'hmac-md5', becomes: 'hmac-sha256', name_servers: [] },
      { name: 'sha1.example', algorithm: 'hmac-sha1', becomes: 'hmac-sha256' },
    ]);
    expect(await states('lifecycle', 'md5.example')).toEqual(['md5.example active']);
    const done = await run('rotate', '--weak');
    expect(done).toMatchObject({
      status: 0,
      out: 'md5.example: replaced by md5-r2.example\nsha1.example: replaced by sha1-r2.example\n',
    });
    const second = await run('rotate', '--weak');
    expect(second).toMatchObject({ status: 0, out: 'No key to replace.\n' });
    expect(second.err).toContain('Already being replaced: md5.example, sha1.example');
  });

  test('a plan names the name servers, and that other clients may have to act', async () => {
    const agent = await startAgentRequests();
    onTestFinished(() => agent.service.close());
    await agent.createKey('k');
    const plan = await runInside(agent.service, ...words`tsigkey rotate k --dry-run -f json`);
    const who = ['unknown clients of ns1'];
    expect(JSON.parse(plan.out)).toMatchObject([{ name_servers: ['ns1'], who_must_act: who }]);
  });

  test('the first failure stops, and says what is done and how to undo it', async () => {
    await create('first.example');
    await create(`${'l'.repeat(63)}.example`);
    await create('third.example');
    const { status, out, err } = await run(
      ...words`rotate first.example ${`${'l'.repeat(63)}.example`} third.example`,
    );
    expect({ status, out }).toEqual({
      status: 1,
      out: 'first.example: replaced by first-r2.example\n',
    });
    expect(err).toMatch(/Stopped at 'l{63}\.example'.*\n?.*1 replaced before it, 1 not begun/s);
    expect(await states('lifecycle', 'third.example')).toEqual(['third.example active']);
  });

  test.each([
    [['rotate']],
    [['rotate', 'a', '--weak']],
    [['rotate', 'a', '--pool', 'default']],
    [['rotate', 'a', 'b', '--name', 'c']],
    [['rotate', '--weak', '--compromised']],
    [['rotate', 'a', '--overlap', 'long']],
  ])('refuses %j', async (argv) => {
    expect(await run(...argv)).toMatchObject({ status: 2, out: '' });
  });
});

describe('who uses a key', () => {
  test('is said with flags of set, and found by list', async () => {
    await create('described.example');
    const set = await run(
      ...words`set described.example --owner netops --purpose Frankfurt --expires 20d
          --consumer ns3.partner.example=192.0.2.7,noc --consumer ns4.partner.example`,
    );
    expect(set).toMatchObject({ status: 0 });
    expect(set.err.split('\n').slice(0, 4)).toEqual([
      'Owner: netops',
      'Purpose: Frankfurt',
      'Consumers: ns3.partner.example (192.0.2.7), ns4.partner.example',
      expect.stringMatching(/^described\.example: replace it until \d{4}-/),
    ]);
    const names = async (...flags: string[]) =>
      (await run('list', ...flags, '-f', 'value', '-c', 'name')).out.trim();
    expect(await names('--due', '30d')).toBe('described.example');
    expect(await names('--due', '10d')).toBe('');
    expect(await names('--owner', 'netops')).toBe('described.example');
    expect(await names('--owner', 'others')).toBe('');
    const listed = await run('list', '--owner', 'netops', '-f', 'value', '-c', 'owner');
    expect(listed.out).toBe('netops\n');
    await run('set', 'described.example', '--no-owner', '--no-consumer', '--no-expires');
    const { out } = await run('lifecycle', 'described.example', '-f', 'json');
    expect(JSON.parse(out)).toMatchObject({ owner: null, purpose: 'Frankfurt', consumers: [] });
    expect(await names('--due', '30d')).toBe('');
  });
});
