import { databaseWith } from '../data.mjs';
import { startFloor } from '../floors.mjs';
import { interleave, rowOf, underLoad, underWrk } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';
import { hasWrk } from '../wrk.mjs';

/**
 * Measures reads of one resource by its id, over 1, 16 and 64 connections. The floor is `node:http`
 * with a constant body of the same size.
 */
export async function reads(bench) {
  const { setting, rows } = await databaseWith(1000);
  const [service, floor] = await Promise.all([
    startService({ database: setting, profile: bench.profileOf('reads') }),
    startFloor('http'),
  ]);
  const tlds = rows.slice(0, 100).map(({ id }) => `/v2/tlds/${id}`);
  const keys = [];
  for (let number = 0; number < 100; number += 1)
    keys.push(`/v2/tsigkeys/${await createKey(service, number)}`);
  const headers = await ownToken(service);
  const withWrk = hasWrk();
  if (!withWrk) process.stderr.write('wrk is not installed, so only autocannon measures GET\n');
  const out = [];
  for (const [name, paths] of Object.entries({ 'GET one TLD': tlds, 'GET one key': keys })) {
    const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
    for (const connections of [1, 16, 64]) {
      const size = Buffer.byteLength(bodies[0]);
      const { measured, bare } = await interleave(bench, {
        bare: () =>
          underLoad(bench, floor, {
            traffic: 'get',
            args: { paths: [`/${size}`], bodies: ['x'.repeat(size)] },
            connections,
          }),
        measured: () =>
          underLoad(bench, service, {
            traffic: 'get',
            args: { paths, bodies },
            connections,
            headers,
          }),
      });
      out.push(
        rowOf({
          name: `${name}, ${connections} connection${connections === 1 ? '' : 's'}`,
          measured,
          floor: bare,
          service,
          target: { atMost: 2.3 },
        }),
      );
    }
    if (withWrk)
      out.push(
        await wrkRow(bench, {
          service: { ...service, headers },
          floor,
          name,
          paths,
          size: Buffer.byteLength(bodies[0]),
        }),
      );
  }
  await Promise.all([service.stop(), floor.stop()]);
  return out;
}

/**
 * Measures reads of `paths` with wrk, which uses less CPU time than autocannon. A slow load
 * generator makes the floor look more expensive than it is.
 */
async function wrkRow(bench, { service, floor, name, paths, size }) {
  const connections = 64;
  const { measured, bare } = await interleave(bench, {
    bare: () => underWrk(bench, floor, { paths: [`/${size}`], connections }),
    measured: () => underWrk(bench, service, { paths, connections }),
  });
  return rowOf({
    name: `${name}, ${connections} connections, wrk`,
    measured,
    floor: bare,
    service,
    target: { atMost: 3 },
  });
}

async function createKey(service, number) {
  const key = {
    name: `key-${number}`,
    algorithm: 'hmac-sha256',
    secret: 'c2VjcmV0IG9mIHRoZSBiZW5jaG1hcms=',
    scope: 'POOL',
    resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
  };
  return JSON.parse(await sendRequest(service, 'POST', '/v2/tsigkeys', key, 201)).id;
}
