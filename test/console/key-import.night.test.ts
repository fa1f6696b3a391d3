import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { consolePages, hasChromium, shoot } from '../harness/chromium.ts';
import { createKey } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

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

describe.skipIf(!hasChromium())('the import of keys', () => {
  let service: TestService;
  const { start, enter } = consolePages();

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
    for (const name of ['a', 'b'])
      await service.post('/v2/zones', { name: `${name}.test.`, email: `a@${name}.test` });
  });

  test('shows what keys open in each zone before and after, and keeps them to it', async () => {
    const { page } = await enter('keys');
    await page.getByRole('link', { name: 'Import keys' }).click();
    const pasted = page.getByRole('textbox', { name: 'Configuration' });
    const show = page.getByRole('button', { name: 'Show what would change' });
    const changes = page.getByRole('region', { name: 'What would change' });

    await pasted.fill(NAMED);
    await show.click();
    await page.getByText('/etc/bind/keys.conf (line 2)').waitFor();
    expect(await changes.count()).toBe(0);

    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.postData() ?? ''));
    const whole = NAMED.replace('include "/etc/bind/keys.conf";', KEYS);
    await pasted.fill(whole);
    await show.click();
    await changes.getByText('2 new').waitFor();
    await changes.getByText('1 left out').waitFor();
    const rows = changes.getByRole('table', { name: 'What each key opens' }).getByRole('row');
    expect(await rows.allInnerTexts()).toEqual([
      'Key\tRight\tToday\tAfter the import',
      'xfr\ttransfer\ta.test, b.test, c.test\ta.test, b.test',
      'upd\tupdate\tc.test\tnothing',
    ]);
    await changes.getByText(/xfr: transfer of d\.test: /).waitFor();
    await changes.getByText('transfer of e.test from anywhere').waitFor();
    await shoot(page, 'keys-import');
    await changes.getByText('tsigil tsigkey import FILE --create-zones').waitFor();
    expect(sent.join('\n')).not.toMatch(new RegExp(Object.values(SECRETS).join('|')));

    await changes.getByRole('button', { name: 'Import 2 keys…' }).click();
    await page
      .getByRole('dialog', { name: 'Import 2 keys?' })
      .getByRole('button', { name: 'Import 2 keys' })
      .click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('2 keys imported').waitFor();
    expect(await zonesOf('xfr', 'transfer')).toEqual(['a.test.', 'b.test.']);
    expect(await zonesOf('xfr', 'update')).toEqual([]);
    expect(await zonesOf('upd', 'update')).toEqual([]);
    expect(await keyNamed('xfr')).toMatchObject({ algorithm: 'hmac-sha256', secret: SECRETS.xfr });
    expect(await keyNamed('upd')).toMatchObject({ algorithm: 'hmac-sha512', secret: SECRETS.upd });

    await result.getByRole('button', { name: 'Import more' }).click();
    await pasted.fill(whole);
    await show.click();
    await page.getByRole('heading', { name: 'Nothing would change' }).waitFor();
    await changes.getByText('2 here already').waitFor();
  });

  test('keys without a configuration open everything, which a person confirms', async () => {
    const { page } = await enter('keys/import');
    await page
      .getByRole('textbox', { name: 'Configuration' })
      .fill('hmac-sha256:lone:bG9uZS1sb25lLWxvbmUtbG9uZQ==\nbroken:line');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    const changes = page.getByRole('region', { name: 'What would change' });
    await changes.getByText('The file does not say what its keys open.').waitFor();
    await changes.getByText(/Line 2: the line must be/).waitFor();
    await changes.getByRole('button', { name: 'Import 1 key…' }).click();
    await page.getByLabel(/^Type/).fill('1');
    await page.getByRole('dialog').getByRole('button', { name: 'Import 1 key' }).click();
    await page.getByText('1 key imported').waitFor();
    const { id = '' } = (await keyNamed('lone')) ?? {};
    expect((await service.get(`/v2/tsigkeys/${id}/grants`)).body.grants).toBeNull();
  });

  test('a refused key is named, and the others are created', async () => {
    const text = `
      key "ok" { algorithm hmac-sha256; secret "b2stb2stb2stb2stb2stb2stb2s="; };
      key "late" { algorithm hmac-sha256; secret "bGF0ZS1sYXRlLWxhdGUtbGF0ZQ=="; };
      zone "a.test" { type primary; file "a"; allow-transfer { key ok; }; };`;
    const { page } = await enter('keys/import');
    await page.getByRole('textbox', { name: 'Configuration' }).fill(text);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('button', { name: 'Import 2 keys…' }).click();
    await createKey(service, 'late'); // by somebody else
    await page.getByRole('dialog').getByRole('button', { name: 'Import 2 keys' }).click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('1 key imported').waitFor();
    await result.getByText(/Key late: .*/).waitFor();
    expect(await zonesOf('ok', 'transfer')).toEqual(['a.test.']);
  });

  test('a text that is no configuration is refused', async () => {
    const { page } = await enter('keys/import');
    for (const [text, refusal] of [
      ['<html>', 'no keys in a form that Tsigil knows'],
      ['zone "a" { type primary; allow-transfer {', 'pasted text'],
    ] as const) {
      await page.getByRole('textbox', { name: 'Configuration' }).fill(text);
      await page.getByRole('button', { name: 'Show what would change' }).click();
      await page.getByRole('alert').getByText(refusal).waitFor();
    }
  });

  test('what is pasted during a comparison is never taken for what it compared', async () => {
    const { page } = await enter('keys/import');
    const pasted = page.getByRole('textbox', { name: 'Configuration' });
    const events = new EventTarget();
    const [isHeld, isReleased] = ['held', 'released'].map((name) => once(events, name));
    await page.route('**/v2/tsigkeys?limit=1000', async (route) => {
      events.dispatchEvent(new Event('held'));
      await isReleased;
      await route.continue();
    });
    await pasted.fill(KEYS);
    await page.getByRole('button', { name: 'Show' }).click();
    await isHeld;
    await pasted.fill('hmac-sha256:other:b3RoZXItb3RoZXItb3RoZXI=');
    events.dispatchEvent(new Event('released'));
    await page.getByRole('button', { name: 'Show' }).click();
    const changes = page.getByRole('region', { name: 'What would change' });
    await changes.getByText('1 new').waitFor();
  });
});
