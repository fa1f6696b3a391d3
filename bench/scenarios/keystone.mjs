import { createServer } from 'node:http';
import { once } from 'node:events';
import { databaseWith } from '../data.mjs';
import { interleave, rowOf, underLoad } from '../rounds.mjs';
import { ownToken, sendRequest, startService } from '../service.mjs';

/** The response of the simulated Keystone to every token validation. */
const DESCRIPTION = {
  token: {
    methods: ['password'],
    user: { id: 'f'.repeat(32), name: 'bench', domain: { id: 'default', name: 'Default' } },
    roles: [{ id: 'a'.repeat(32), name: 'admin' }],
    project: { id: 'b'.repeat(32), name: 'bench', domain: { id: 'default', name: 'Default' } },
    issued_at: new Date(Date.now() - 60_000).toISOString(),
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  },
};

/** Compares `GET` with a cached Keystone token to `GET` with a token of the service. */
export async function keystone(bench) {
  const identity = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(DESCRIPTION));
  }).listen(0, '127.0.0.1');
  await once(identity, 'listening');
  const { setting, rows } = await databaseWith(1000);
  const variables = {
    TSIGIL_AUTH_METHOD: '[tokens, keystone]',
    TSIGIL_AUTH_KEYSTONE_URL: `http://127.0.0.1:${identity.address().port}`,
  };
  const service = await startService({
    database: setting,
    variables,
    profile: bench.profileOf('keystone'),
  });
  const paths = rows.slice(0, 100).map(({ id }) => `/v2/tlds/${id}`);
  const bodies = await Promise.all(paths.map((path) => sendRequest(service, 'GET', path)));
  const own = await ownToken(service);
  const measure = (headers) => () =>
    underLoad(bench, service, { traffic: 'get', args: { paths, bodies }, headers });
  const { ours, theirs } = await interleave(bench, {
    ours: measure(own),
    theirs: measure({ 'x-auth-token': 'gAAAAABo'.padEnd(183, 'x') }),
  });
  const row = rowOf({
    name: "GET with a cached Keystone token, against a service's token",
    measured: theirs,
    floor: ours,
    service,
    target: { atMost: 1.15 },
  });
  await service.stop();
  identity.close();
  return [row];
}
