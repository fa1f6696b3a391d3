import { beforeAll, describe, expect, test } from 'vitest';
import { addDatabaseGauges, createMetrics } from '../../src/http/metrics/metrics.ts';
import { DEFAULT_POOL } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

function resourceSeries(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('tsigil_resources{'));
}

test('200 with counts that the service caches for 15 s', async () => {
  const before = resourceSeries((await service.get('/metrics')).text);
  expect((await service.post('/v2/tlds', { name: 'counted-later' })).status).toBe(201);
  expect(resourceSeries((await service.get('/metrics')).text)).toEqual(before);
});

describe('a name server that had no pass yet', () => {
  let series: string[];
  beforeAll(async () => {
    const first = await startTestService();
    await first.post('/v2/nameservers', {
      name: 'ns-new',
      pool_id: DEFAULT_POOL,
      driver: 'bind',
      address: '192.0.2.53',
      delivery: 'agent',
    });
    await first.close();
    const restarted = await startTestService({}, { folder: first.folder });
    const { text } = await restarted.get('/metrics');
    series = text.split('\n').filter((line) => line.includes('name_server="ns-new"'));
  });

  test('has the counters at 0 whose first increase an alert must see', () => {
    for (const counted of [
      'tsigil_delivery_drift_total{name_server="ns-new"}',
      'tsigil_delivery_seconds_count{name_server="ns-new"}',
      'tsigil_delivery_seconds_bucket{le="+Inf",name_server="ns-new"}',
    ])
      expect(series).toContain(`${counted} 0`);
  });
});

describe('gauges of the database', () => {
  /**
   * Adds two gauges with values from `read`. Returns a function that scrapes the series of both
   * gauges.
   */
  function gaugesOf(read: () => Promise<number>): () => Promise<string[]> {
    const metrics = createMetrics('0.0.0');
    addDatabaseGauges(metrics, read, [
      { name: 'plain', help: 'A gauge without labels.', valueOf: (value) => value },
      {
        name: 'labelled',
        help: 'A gauge with labels.',
        labelNames: ['part'],
        valueOf: (value) => [
          [{ part: 'a' }, value],
          [{ part: 'b' }, 2 * value],
        ],
      },
    ]);
    return async () =>
      (await metrics.registry.metrics())
        .split('\n')
        .filter((line) => /^(?:plain|labelled)/.test(line))
        .sort();
  }
  const SERIES = ['labelled{part="a"} 7', 'labelled{part="b"} 14', 'plain 7'];

  test('are omitted while the query fails', async () => {
    let isDown = true;
    const scrape = gaugesOf(() => (isDown ? Promise.reject(new Error()) : Promise.resolve(7)));
    expect(await scrape()).toEqual([]);
    isDown = false;
    expect(await scrape()).toEqual(SERIES);
  });

  test('are omitted if the query does not end', async () => {
    expect(await gaugesOf(() => new Promise(() => undefined))()).toEqual([]);
  });
});
