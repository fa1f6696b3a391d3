import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportKey } from '../../src/keys/export/export-formats.ts';
import { tsigil } from '../cli/run.ts';
import { createAgent, type TestAgent } from '../harness/agent.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import type { Brand } from '../harness/brands/brand.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { nightly } from '../harness/nightly.ts';
import { newKey } from '../brands/driver-contract.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { IS_LONG } from '../harness/sizes.ts';

type Key = Omit<CreatedKey, 'id'>;

const CASES = BRANDS.filter((brand) => brand.include !== undefined && brand.isInstalled()).flatMap(
  (brand) => [
    { brand, name: brand.name, byAgent: false },
    ...(IS_LONG ? [{ brand, name: brand.name, byAgent: true }] : []),
  ],
);

describe.each(CASES)(
  'a $name server that has keys, delivered to by an agent: $byAgent',
  (given) => {
    const { brand, byAgent } = given;
    const [mine, taken] = [newKey({ rights: [] }), newKey({ rights: [] })];
    let server: DeliveryServer;
    let service: TestService;
    let agent: TestAgent | undefined;
    let included: string;

    const main = () => join(server.folder, brand.main);
    const file = () => readFileSync(join(server.folder, brand.include?.file ?? ''), 'utf8');
    /** Adds keys to a configuration with its own lists, and the first key to these lists. */
    const withOwn = (text: string, keys: readonly Key[]) =>
      keys.map((key) => exportKey(brand.driver, key).text).join('') +
      (brand.include?.grant(text, keys[0]?.name ?? '') ?? '');
    const without = (b: Brand, text: string) => b.include?.withoutInclude(text) ?? '';
    const reconcile = async () =>
      service.post(`/v2/nameservers/${(await shownServer(service)).id}/reconcile`, {});
    const untilPrepared = (error: string) =>
      expect
        .poll(() => shownServer(service))
        .toMatchObject({
          state: 'prepared',
          error_code: 'prepared',
          keys_live: 0,
          attempts: 0,
          error: expect.stringContaining(error) as unknown,
        });

    beforeAll(async () => {
      server = await startDeliveryServer(brand);
      included = readFileSync(main(), 'utf8');
      writeFileSync(main(), withOwn(without(brand, included), [mine, taken]));
      await server.stop();
      await server.start();
      service = await startTestService(byAgent ? {} : delivering(server));
      await createZones(service);
      await createKey(service, mine.name, { secret: mine.secret });
      await createKey(service, taken.name);
      agent = byAgent ? await createAgent(service, server) : undefined;
      agent?.start();
    });
    afterAll(async () => {
      await agent?.stop('SIGTERM');
      await service.close();
      await server.remove();
    });

    const idOf = async (name: string) => {
      const { body } = await service.get(`/v2/tsigkeys?name=${name}`);
      return (body as { tsigkeys: { id: string }[] }).tsigkeys[0]?.id ?? '';
    };
    const onServer = async (name: string) =>
      (await deliveries(service, await idOf(name))).servers[0];

    test('is prepared: the file is complete, nothing is loaded, and no key is live', async () => {
      await untilPrepared('does not include');
      const fresh = await createKey(service, 'fresh');
      await expect.poll(file).toContain(fresh.secret);
      expect(file()).toContain(mine.secret);
      expect(file()).not.toContain(`"${taken.name}`);
      await untilPrepared('does not include');
      expect(await onServer(mine.name)).toMatchObject({
        state: 'pending',
        delivered_version: 0,
        error: { code: 'prepared' },
      });
      await expect
        .poll(() => onServer(taken.name))
        .toMatchObject({ state: 'undeliverable', error: { code: 'name_taken' } });
      expect(await verdictOf(server, mine)).toBe('good');
      expect(await verdictOf(server, fresh)).not.toBe('good');
      const { url, token } = service;
      const cli = async (...words: string[]) =>
        tsigil(service.folder, { TSIGIL_URL: url, TSIGIL_TOKEN: token }, ...words);
      expect((await cli('nameserver', 'list')).out).toContain('prepared');
      expect((await cli('nameserver', 'show', 'ns1')).out).toContain('does not include');
      const checked = await cli('nameserver', 'check', 'ns1', '-f', 'csv');
      if (!byAgent) expect(checked.out).toMatch(/run on the host: tsigil nameserver adopt ns1\b/);
      expect(checked.out).not.toContain((await shownServer(service)).id);
      const metrics = (await service.get('/metrics')).text;
      expect(metrics).toContain('tsigil_name_server_state{name_server="ns1",state="prepared"} 1');
    });

    nightly('rewrites the file when keys change, and stays prepared', async () => {
      const second = await createKey(service, 'second');
      await expect.poll(file).toContain(second.secret);
      await service.delete(`/v2/tsigkeys/${await idOf('fresh')}`);
      await expect.poll(file).not.toContain('"fresh');
      await untilPrepared('does not include');
      expect(await verdictOf(server, second)).not.toBe('good');
      const { body } = await service.get('/v2/deliveries?state=removing');
      expect(body).toEqual({ deliveries: [] });
    });

    nightly('stays prepared in the middle of an edit, in which both files have a key', async () => {
      writeFileSync(main(), withOwn(included, [mine]));
      await untilPrepared(`defines the key '${mine.name}'`);
      await reconcile();
      await untilPrepared(`defines the key '${mine.name}'`);
      expect(file()).toContain(mine.secret);
      expect(await verdictOf(server, mine)).toBe('good');
    });

    nightly(
      'loads the file after the edit, and all keys are live, while no transfer fails',
      async () => {
        const end = new AbortController();
        const verdicts: string[] = [];
        const transfers = (async () => {
          while (!end.signal.aborted) verdicts.push(await verdictOf(server, mine));
        })();
        writeFileSync(main(), included);
        await untilLive(service);
        const count = verdicts.length;
        await expect.poll(() => verdicts.length).toBeGreaterThan(count + 20);
        end.abort();
        await transfers;
        expect(new Set(verdicts)).toEqual(new Set(['good']));
        for (const name of [mine.name, taken.name, 'second']) {
          const { body } = await service.get(`/v2/tsigkeys/${await idOf(name)}`);
          expect(await verdictOf(server, body as CreatedKey)).toBe('good');
          expect(await onServer(name)).toMatchObject({ state: 'delivered', error: null });
        }
        expect(await shownServer(service)).toMatchObject({ keys_live: 3, error_code: null });
      },
    );

    nightly(
      'takes over another key in the reload that takes the definition of its operator away',
      async () => {
        const late: CreatedKey = newKey({ rights: [] });
        writeFileSync(main(), withOwn(included, [late]));
        await server.stop();
        await server.start();
        await createKey(service, late.name, { secret: late.secret });
        await expect
          .poll(() => onServer(late.name))
          .toMatchObject({ state: 'undeliverable', error: { code: 'name_taken' } });
        expect(await onServer(mine.name)).toMatchObject({ state: 'delivered' });
        writeFileSync(main(), included);
        await reconcile();
        await expect.poll(() => onServer(late.name)).toMatchObject({ state: 'delivered' });
        expect([await verdictOf(server, late), await verdictOf(server, mine)]).toEqual([
          'good',
          'good',
        ]);
        await service.delete(`/v2/tsigkeys/${await idOf(late.name)}`);
        await expect.poll(file).not.toContain(late.name);
      },
    );

    nightly('is prepared again once the server no longer loads the file', async () => {
      writeFileSync(main(), withOwn(without(brand, included), [mine]));
      await server.stop();
      await server.start();
      await reconcile();
      await untilPrepared('does not include');
      for (const name of [mine.name, 'second'])
        expect(await onServer(name)).toMatchObject({ state: 'pending', delivered_version: 0 });
      expect(file()).toContain(mine.secret);
      writeFileSync(main(), included);
      await untilLive(service);
      expect(await verdictOf(server, mine)).toBe('good');
    });

    nightly('is released and taken over again, while its keys work', async () => {
      const { id } = await shownServer(service);
      const released = await service.post(`/v2/nameservers/${id}/release`, {});
      expect(released.body).toEqual({ released: 3 });
      expect(await shownServer(service)).toMatchObject({ state: 'paused', keys_live: 0 });
      expect(await onServer(mine.name)).toMatchObject({ state: 'paused', delivered_version: 0 });
      expect(await verdictOf(server, mine)).toBe('good');
      await service.patch(`/v2/nameservers/${id}`, { paused: false });
      await untilLive(service);
      expect(await verdictOf(server, mine)).toBe('good');
    });
  },
);
