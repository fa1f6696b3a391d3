import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

const SECRETS = {
  xfr: 'eGZyLXhmci14ZnIteGZyLXhmci14ZnI=',
  upd: 'dXBkLXVwZC11cGQtdXBkLXVwZC11cGQ=',
};

const KEYS = `
key "xfr" { algorithm hmac-sha256; secret "${SECRETS.xfr}"; };
key "upd" { algorithm hmac-sha512; secret "${SECRETS.upd}"; };
key "rndc-key" { algorithm hmac-sha256; secret "cm5kYy1ybmRjLXJuZGMtcm5kYw=="; };
`;

const NAMED = `
include "/etc/bind/keys.conf";
controls { inet 127.0.0.1 port 953 allow { 127.0.0.1; } keys { "rndc-key"; }; };
zone "a.test" { type primary; file "a"; allow-transfer { key xfr; }; };
zone "b.test" { type primary; file "b"; allow-transfer { key xfr; }; };
zone "c.test" { type primary; file "c"; allow-transfer { key xfr; }; allow-update { key upd; }; };
zone "d.test" { type primary; file "d"; allow-transfer { !192.0.2.1; key xfr; }; };
zone "e.test" { type primary; file "e"; allow-transfer { any; }; };
`;

function file(name: string, text: string) {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
}

describe.skipIf(!hasChromium())('the import of keys', () => {
  let service: TestService;
  const { start, enter, enterWith } = consolePages();

  const keyNamed = async (name: string) => {
    const { body } = await service.get(`/v2/tsigkeys?name=${name}`);
    return (body.tsigkeys as { id: string; secret: string; algorithm: string }[])[0];
  };
  /** Returns the names of the zones in which a key has a right. */
  const zonesOf = async (name: string, right: string) => {
    const { id = '' } = (await keyNamed(name)) ?? {};
    const { body } = await service.get(`/v2/tsigkeys/${id}/grants`);
    const grants = body.grants as { rights: string[]; zones: string[] }[];
    const ids = grants.flatMap(({ rights, zones }) => (rights.includes(right) ? zones : []));
    const zones = (await service.get('/v2/zones')).body.zones as { id: string; name: string }[];
    return zones.flatMap((zone) => (ids.includes(zone.id) ? [zone.name] : [])).sort();
  };

  beforeAll(async () => {
    service = await startTestService();
    await start(service);
    await service.post('/v2/zones', { name: 'a.test.', email: 'a@a.test' });
  });

  test('shows what keys open in each zone before and after, and keeps them to it', async () => {
    const { page } = await enter('keys');
    await page.getByRole('link', { name: 'Import keys' }).click();
    const files = page.getByLabel('Files');
    const show = page.getByRole('button', { name: 'Show what would change' });
    const changes = page.getByRole('region', { name: 'What would change' });

    await files.setInputFiles([file('named.conf', NAMED)]);
    await show.click();
    await changes.getByText('/etc/bind/keys.conf (named.conf:2)').waitFor();
    await changes.getByText('0 new').waitFor();

    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.postData() ?? ''));
    await files.setInputFiles([file('keys.conf', KEYS), file('named.conf', NAMED)]);
    expect(await page.getByLabel('Begins with').inputValue()).toBe('named.conf');
    await show.click();
    await changes.getByText('2 new').waitFor();
    await changes.getByText('1 left out').waitFor();
    const rows = changes.getByRole('region', { name: 'What each key opens' }).getByRole('row');
    expect(await rows.allInnerTexts()).toEqual([
      'Zone\txfr\tupd',
      'a.test and 1 more\ttransfer\t–',
      'c.test\ttransfer\tupdate',
      'd.test\tlimited transfer → nothing\t–',
    ]);
    await changes.getByText(/xfr: transfer of d\.test: .*\(named\.conf:7\)/).waitFor();
    await changes.getByText('transfer of e.test from anywhere').waitFor();
    await shoot(page, 'keys-import');
    const creates = changes.getByLabel(/^Create the 2 zones that Tsigil does not have/);
    expect(await creates.isChecked()).toBe(true);
    await creates.uncheck();
    await changes.getByText('transfer → nothing', { exact: true }).first().waitFor();
    await creates.check();
    expect(sent.join('\n')).not.toMatch(new RegExp(Object.values(SECRETS).join('|')));

    await changes.getByRole('button', { name: 'Import 2 keys…' }).click();
    await page
      .getByRole('dialog', { name: 'Import 2 keys?' })
      .getByRole('button', { name: 'Import 2 keys' })
      .click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('2 keys imported, 2 zones created').waitFor();
    expect(await zonesOf('xfr', 'transfer')).toEqual(['a.test.', 'b.test.', 'c.test.']);
    expect(await zonesOf('xfr', 'update')).toEqual([]);
    expect(await zonesOf('upd', 'update')).toEqual(['c.test.']);
    expect(await keyNamed('xfr')).toMatchObject({ algorithm: 'hmac-sha256', secret: SECRETS.xfr });
    expect(await keyNamed('upd')).toMatchObject({ algorithm: 'hmac-sha512', secret: SECRETS.upd });

    await result.getByRole('button', { name: 'Import more' }).click();
    await files.setInputFiles([file('keys.conf', KEYS), file('named.conf', NAMED)]);
    await show.click();
    await page.getByRole('heading', { name: 'Nothing would change' }).waitFor();
    await changes.getByText('2 here already').waitFor();
  });

  test('keys without a configuration open everything, which a person confirms', async () => {
    const { page } = await enter('keys/import');
    await page.getByText('Or paste a text').click();
    await page
      .getByLabel('Text')
      .fill('hmac-sha256:lone:bG9uZS1sb25lLWxvbmUtbG9uZQ==\nbroken:line');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    const changes = page.getByRole('region', { name: 'What would change' });
    await changes.getByText('The file does not say what its keys open.').waitFor();
    await changes.getByText(/pasted text:2: the line must be/).waitFor();
    await changes.getByRole('button', { name: 'Import 1 key…' }).click();
    await page.getByLabel(/^Type/).fill('1');
    await page.getByRole('dialog').getByRole('button', { name: 'Import 1 key' }).click();
    await page.getByText('1 key imported').waitFor();
    const { id = '' } = (await keyNamed('lone')) ?? {};
    expect((await service.get(`/v2/tsigkeys/${id}/grants`)).body.grants).toBeNull();
  });

  test('a refused zone and key are named, and the others are created', async () => {
    await service.post('/v2/tlds', { name: 'test' });
    const text = `
      key "ok" { algorithm hmac-sha256; secret "b2stb2stb2stb2stb2stb2stb2s="; };
      key "late" { algorithm hmac-sha256; secret "bGF0ZS1sYXRlLWxhdGUtbGF0ZQ=="; };
      zone "new.test" { type primary; file "n"; allow-transfer { key ok; }; };
      zone "new.elsewhere" { type primary; file "o"; allow-transfer { key ok; }; };`;
    const { page } = await enter('keys/import');
    await page.getByLabel('Files').setInputFiles([file('zones', text)]);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('button', { name: 'Import 2 keys…' }).click();
    await createKey(service, 'late'); // by somebody else
    await page.getByRole('dialog').getByRole('button', { name: 'Import 2 keys' }).click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('1 key imported, 1 zone created').waitFor();
    await result.getByText(/Zone new\.elsewhere: .*/).waitFor();
    await result.getByText(/Key late: .*/).waitFor();
    expect(await zonesOf('ok', 'transfer')).toEqual(['new.test.']);
  });

  test('a folder says which files a pattern means; where that is not certain, no key gets a right', async () => {
    const folder = join(temporaryFolder(), 'bind');
    const secret = 'Zm9sZGVyLWZvbGRlci1mb2xkZXItZm9sZGVy';
    const texts = {
      'named.conf': `
        include "/etc/bind/zones/*.conf";
        key "folder" { algorithm hmac-sha256; secret "${secret}"; };`,
      'zones/one.conf': 'zone "in.test" { type primary; allow-transfer { key folder; }; };',
      'old.conf': 'zone "old.test" { type primary; allow-transfer { key folder; }; };',
    };
    for (const [name, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { page } = await enter('keys/import');
    const show = page.getByRole('button', { name: 'Show what would change' });
    const changes = page.getByRole('region', { name: 'What would change' });
    const [one, old] = [texts['zones/one.conf'], texts['old.conf']];
    await page
      .getByLabel('Files')
      .setInputFiles([
        file('named.conf', texts['named.conf']),
        file('one.conf', one),
        file('old.conf', old),
      ]);
    await show.click();
    await changes.getByText('/etc/bind/zones/*.conf (named.conf:2)').waitFor();
    expect(await changes.getByRole('table').count()).toBe(0);

    await page.getByRole('button', { name: 'Forget them' }).click();
    await page.getByLabel('Folder').setInputFiles(folder);
    await page.getByText('3 files:').waitFor();
    await show.click();
    await changes.getByRole('table').waitFor();
    const rows = await changes.getByRole('table').getByRole('row').allInnerTexts();
    expect(rows).toEqual(['Zone\tfolder', 'in.test\ttransfer']);

    // Two paths with the same last part, and one file without its folder.
    await page.getByRole('button', { name: 'Forget them' }).click();
    const twice = 'include "/etc/bind/a/x.conf"; include "/etc/bind/b/x.conf";';
    await page.getByLabel('Files').setInputFiles([file('named.conf', twice), file('x.conf', one)]);
    await show.click();
    await changes.getByText('/etc/bind/b/x.conf (named.conf:1)').waitFor();
  });

  test('a text that is no configuration is refused, and files may include themselves', async () => {
    const { page } = await enter('keys/import');
    const files = page.getByLabel('Files');
    const show = page.getByRole('button', { name: 'Show what would change' });
    await files.setInputFiles([file('named.conf', '<html>')]);
    await show.click();
    await page.getByRole('alert').getByText('no keys in a form that Tsigil knows').waitFor();
    await files.setInputFiles([file('named.conf', 'zone "a" { type primary; allow-transfer {')]);
    await show.click();
    await page.getByRole('alert').getByText('named.conf').waitFor();
    const loop = 'include "/a/named.conf"; include "/a/other*"; zone "l.test" { type primary; };';
    await files.setInputFiles([file('named.conf', loop), file('other', loop)]);
    await show.click();
    await page.getByText('/a/named.conf (named.conf:1)').waitFor();
  });

  test('what is chosen during a comparison is never taken for what it compared', async () => {
    const { page } = await enter('keys/import');
    const [files, show] = [page.getByLabel('Files'), page.getByRole('button', { name: 'Show' })];
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      const released = new Promise<void>((done) => {
        release = done;
      });
      void page.route('**/v2/tsigkeys?limit=1000', async (route) => {
        resolve();
        await released;
        await route.continue();
      });
    });
    await files.setInputFiles([file('named.conf', NAMED)]);
    await show.click();
    await isHeld;
    await files.setInputFiles([file('keys.conf', KEYS)]);
    await page.getByText('2 files:').waitFor();
    const answered = page.waitForResponse('**/v2/tsigkeys?limit=1000');
    release();
    await answered;
    await page.locator('button[type=submit][aria-disabled=false]').waitFor();
    expect(await page.getByRole('region', { name: 'What would change' }).count()).toBe(0);
  });

  test('two folders with one name are never one folder', async () => {
    const folders = ['one', 'two'].map((parent) => {
      const folder = join(temporaryFolder(), parent, 'bind');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${parent}.conf`), KEYS);
      return folder;
    });
    const { page } = await enter('keys/import');
    for (const folder of folders) await page.getByLabel('Folder').setInputFiles(folder);
    await page.getByText('bind/two.conf').waitFor();
    await page.getByText('1 file:').waitFor();
  });

  test('a caller who may not create keys learns which right is missing', async () => {
    const { body } = await service.post('/v2/tokens', { name: 'looker', roles: ['auditor'] });
    const { page } = await enterWith(String(body.token), 'keys/import');
    await page.getByText('Importing keys needs the right tsigkeys:create').waitFor();
    expect(await page.getByLabel('Files').count()).toBe(0);
  });
});
