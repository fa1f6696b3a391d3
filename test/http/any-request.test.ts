import { METHODS } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { normaliseUuid } from '../../src/core/field.ts';
import { ALGORITHMS } from '../../src/dns/algorithms.ts';
import { sendAny, expectResponse, pathOf, usual, withBody } from '../harness/any-request.ts';
import { create, SAMPLES, UNKNOWN_ID, type Resource, type Sample } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import { parseResponse, sendBytes } from '../harness/wire.ts';

/** Whatever a caller sends gets 2xx or 4xx, and a request with 4xx changes nothing. */

let service: TestService;
const targets = new Map<Sample, Resource>();
beforeAll(async () => {
  service = await startTestService({
    TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1',
    TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
  });
  for (const sample of SAMPLES) targets.set(sample, await create(service, sample, 'target'));
});
afterAll(() => expect(service.log.filter((text) => text.includes('"level":"error"'))).toEqual([]));

/** Runs a property with fewer random cases in the gate. */
const check = <T>(property: fc.IAsyncProperty<T>) =>
  fc.assert(property, { numRuns: randomCases(150), endOnFailure: true });

const sample = fc.constantFrom(...SAMPLES);
/** Generates text for a request line or header: any byte except line feed and carriage return. */
const line = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) =>
    Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)).toString('latin1'),
  );
const encoded = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((value) => encodeURIComponent(value)),
  fc
    .uint8Array({ maxLength: 20 })
    .map((bytes) => Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  fc.stringMatching(/^[!-~]{0,40}$/),
);
const text = fc.oneof(
  fc.stringMatching(/^[a-z0-9_.-]{1,12}$/),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 170 }),
);

/** Generates sequences of UTF-16 code units, including lone surrogates, as escape sequences. */
const escaped = fc
  .array(fc.oneof(fc.nat(0xffff), fc.nat(0x7f), fc.constantFrom(0, 0xd800, 0xdfff)), {
    maxLength: 12,
  })
  .map((list) => `"${list.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`);
const names = ['name', 'description', 'algorithm', 'secret', 'scope', 'resource_id', 'id', 'links'];
const members = fc.dictionary(
  fc.constantFrom(...names, 'junk'),
  fc.oneof(
    text.map((value) => JSON.stringify(value)),
    escaped,
    fc.json({ maxDepth: 3 }),
  ),
  { maxKeys: 6, noNullPrototype: true },
);
const objectText = (given: object) =>
  `{${Object.entries(given)
    .map(([name, value]) => `"${name}":${String(value)}`)
    .join(',')}}`;
const brokenText = fc
  .tuple(members.map(objectText), fc.nat(200), fc.string({ maxLength: 3 }))
  .map(([whole, at, inserted]) => whole.slice(0, at) + inserted + whole.slice(at + 1));
const anyBody = fc.oneof(
  members.map(objectText),
  fc.json(),
  brokenText,
  fc
    .tuple(members, members)
    .map(([one, other]) => `${objectText(one).slice(0, -1)},${objectText(other).slice(1)}`),
  fc
    .tuple(fc.constantFrom('[', '{"a":', '{"name":['), fc.integer({ min: 1, max: 9000 }))
    .map(([open, depth]) => open.repeat(depth)),
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom('', 'null', '{}', '[]'),
);

/** Generates bodies of a TLD and of a key with which a creation may succeed. */
const likelyText = fc.oneof({ arbitrary: fc.stringMatching(/^[a-z0-9]{1,12}$/), weight: 4 }, text);
const likely = fc
  .record(
    {
      name: likelyText,
      description: fc.option(likelyText),
      algorithm: fc.constantFrom(...Object.keys(ALGORITHMS)),
      secret: likelyText,
      scope: fc.constantFrom('POOL', 'ZONE'),
      resource_id: fc.oneof(
        fc.uuid(),
        fc.uuid().map((id) => `{${id.toUpperCase()}}`),
      ),
    },
    { requiredKeys: ['name', 'algorithm', 'scope', 'resource_id'] },
  )
  .map(({ name, description, ...key }) => [
    JSON.stringify({ name, description }),
    JSON.stringify({ name, ...key }),
  ]);

const sendBody = (line: string, body: string | Uint8Array) =>
  sendAny(service, `${line} HTTP/1.1`, withBody(service, body), body);

test('201, 400 or 409 for a creation and 200 or 400 for an update with any body, and what is shown is what was given', async () => {
  let accepted = 0;
  const bodies = fc.oneof(
    anyBody.map((body) => [body, body]),
    likely,
  );
  await check(
    fc.asyncProperty(fc.nat(1), bodies, async (index, both) => {
      const [type, body] = [SAMPLES[index] as Sample, both[index] ?? ''];
      const created = await sendBody(`POST ${pathOf(type)}`, body);
      // An update may have given the name to the target.
      expect([201, 400, 409]).toContain(created.status);
      if (created.status === 201) {
        accepted += 1;
        const given = JSON.parse(String(body)) as Record<string, unknown>;
        const made = JSON.parse(created.body) as Resource;
        if ('resource_id' in given) given.resource_id = normaliseUuid(String(given.resource_id));
        expect(made).toMatchObject(given);
        const path = pathOf(type, made.id);
        const read = (await service.get(path)).body;
        expect(read).toEqual({ ...made, links: { self: service.url + path } });
        const listed = await service.get(`${pathOf(type)}?name=${encodeURIComponent(made.name)}`);
        if (!made.name.includes('*')) expect(listed.body[type.collection]).toEqual([read]);
        expect((await service.delete(path)).status).toBe(204); // so that the database stays small
      }
      const path = pathOf(type, targets.get(type)?.id ?? '');
      const changed = await sendBody(`PATCH ${path}`, body);
      expect([200, 400]).toContain(changed.status);
      if (changed.status !== 200) return;
      const links = { self: service.url + path };
      expect((await service.get(path)).body).toEqual({ ...JSON.parse(changed.body), links });
    }),
  );
  expect(accepted).toBeGreaterThan(randomCases(5));
});

test('200, 400 or 404 for a list with any query, and links.self returns the same list', async () => {
  const words = ['limit', 'marker', 'sort_key', 'sort_dir', 'name', 'scope', 'all_projects'];
  const values = ['max', '0', '*', 'asc', 'updated_at', UNKNOWN_ID, '[*', '%25*', '%00'];
  const parameter = fc
    .tuple(
      fc.oneof(fc.constantFrom(...words), encoded),
      fc.oneof(fc.constantFrom(...values), encoded),
    )
    .map(([name, value]) => `${name}=${value}`);
  const query = fc.oneof(
    fc.array(parameter, { maxLength: 4 }).map((list) => list.join('&')),
    encoded,
    fc.stringMatching(/^[&=+%*?;#a-f0-9]{0,30}$/),
  );
  const listed = (target: string) => sendAny(service, `GET ${target} HTTP/1.1`, usual(service));
  await check(
    fc.asyncProperty(sample, query, async (type, given) => {
      const response = await listed(`${pathOf(type)}?${given}`);
      expect([200, 400, 404]).toContain(response.status);
      if (response.status !== 200) return;
      const { links } = JSON.parse(response.body) as { links: { self: string } };
      const again = await listed(links.self.replace('http://dns.example', ''));
      expect(again.body).toBe(response.body);
    }),
  );
});

test('2xx or 4xx for any method, path and headers, with and without Host and token', async () => {
  const token = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}$/);
  const method = fc.oneof(fc.constantFrom(...METHODS), token);
  const paths = ['/v2/tokens', '/', '/metrics', '*', 'http://h/v2/tlds', 'dns.example:443'];
  const path = fc.oneof(
    fc.constantFrom(...paths, `/v2/tlds/${UNKNOWN_ID}`),
    fc.tuple(sample, encoded).map(([type, id]) => pathOf(type, id)),
    fc.oneof(encoded, line).map((rest) => `/${rest}`),
  );
  const values = ['100-continue', 'websocket', 'gzip', 'true', '__proto__', 'a'.repeat(9000)];
  const value = fc.oneof(line, fc.stringMatching(/^[ -~]{0,40}$/), fc.constantFrom(...values));
  const header = fc
    .tuple(fc.oneof(fc.constantFrom(...HEADERS), token), value)
    .map((parts) => parts.join(': '));
  const framing = /^(?:content-length|transfer-encoding|connection|keep-alive|proxy-connection):/i;
  const request = fc.tuple(method, path, fc.array(header, { maxLength: 6 }), fc.boolean());
  await check(
    fc.asyncProperty(request, async ([verb, target, headers, isKnown]) => {
      const sent = headers.filter((each) => !framing.test(each));
      const head = [...(isKnown ? usual(service) : []), ...sent, 'Content-Length: 2'];
      await sendAny(service, `${verb} ${target} HTTP/1.1`, head, '{}');
    }),
  );
});

const HEADERS = `Host X-Auth-Token Authorization Content-Type Accept Content-Encoding Cookie Expect
  Upgrade X-Auth-Sudo-Project-Id X-Auth-All-Projects X-Designate-Hard-Delete
  X-Openstack-Request-Id X-Forwarded-Host X-Forwarded-Proto Forwarded Origin Range If-Match TE
  Trailer`.split(/\s+/);

test('2xx or 4xx for any bytes and for a valid request with any change, or the connection closes', async () => {
  const BATCH = 40;
  const change = fc.tuple(
    fc.nat(170),
    fc.nat(10),
    fc.oneof(line, fc.constantFrom('\r\n', '\r\n\r\n', '\r', '\n', '\0', ':', ' ', '9')),
  );
  const changed = change.map(([at, length, inserted]) => {
    const head = withBody(service, '{}').join('\r\n');
    const whole = `PATCH /v2/tlds/${UNKNOWN_ID} HTTP/1.1\r\n${head}`;
    const rest = `${whole.slice(at + length)}\r\nConnection: close\r\n\r\n{}`;
    return Buffer.from(whole.slice(0, at) + inserted + rest, 'latin1');
  });
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    fc.constantFrom('GET', 'GET / HTTP/1.1\r\n', '\r\n', '\0'),
    changed,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(bytes, { minLength: BATCH, maxLength: BATCH }), async (batch) => {
      for (const received of await Promise.all(batch.map((one) => sendBytes(service.url, one)))) {
        const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) =>
          Number(status),
        );
        for (const status of statuses) expect(status).toBeLessThan(500);
        if (statuses.length === 1) expectResponse(parseResponse(received));
      }
    }),
    { numRuns: randomCases(5), endOnFailure: true },
  );
});
