import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { normaliseUuid } from '../../src/domain/model/field.ts';
import { sendAny, pathOf, usual, withBody } from '../harness/any-request.ts';
import {
  create,
  SAMPLES,
  TLDS,
  TSIGKEYS,
  UNKNOWN_ID,
  type Resource,
  type Sample,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';

/** Tests requests with arbitrary bodies. */

let service: TestService;
let targets: Map<Sample, Resource>;
beforeAll(async () => {
  service = await startTestService();
  targets = new Map();
  for (const sample of SAMPLES) targets.set(sample, await create(service, sample, 'target'));
});

/** Deletes a resource that a request created, so that the database stays small. */
async function forget(sample: Sample, { id }: Resource): Promise<void> {
  expect((await service.delete(pathOf(sample, id))).status).toBe(204);
}

const sample = fc.constantFrom(...SAMPLES);
/** Generates sequences of UTF-16 code units, including lone surrogates. */
const units = fc.array(fc.oneof(fc.nat(0xffff), fc.nat(0x7f), fc.constantFrom(0, 0xd800, 0xdfff)), {
  maxLength: 12,
});
/** Generates JSON strings in which every code unit is an escape sequence. */
const escaped = units.map(
  (list) => `"${list.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`,
);
const word = fc.stringMatching(/^[a-z0-9_.-]{1,12}$/);
const text = fc.oneof(
  word,
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 170 }),
);
const literal = fc.oneof(
  text.map((value) => JSON.stringify(value)),
  escaped,
  fc.json({ maxDepth: 3 }),
);
const members = fc.dictionary(
  fc.constantFrom(
    'name',
    'description',
    'algorithm',
    'secret',
    'scope',
    'resource_id',
    'id',
    'links',
    'junk',
  ),
  literal,
  {
    maxKeys: 6,
    noNullPrototype: true,
  },
);
const objectText = (given: object) =>
  `{${Object.entries(given)
    .map(([name, value]) => `"${name}":${String(value)}`)
    .join(',')}}`;
const deep = fc
  .tuple(
    fc.constantFrom('[', '{"a":', '{"name":[', '{"a":{},"b":'),
    fc.integer({ min: 1, max: 9000 }),
  )
  .map(([open, depth]) => open.repeat(depth));
const brokenText = fc
  .tuple(members.map(objectText), fc.nat(200), fc.string({ maxLength: 3 }))
  .map(([whole, at, inserted]) => whole.slice(0, at) + inserted + whole.slice(at + 1));
const doubled = fc
  .tuple(members, members)
  .map(([one, other]) => objectText(one).slice(0, -1) + ',' + objectText(other).slice(1));
const anyBody = fc.oneof(
  members.map(objectText),
  fc.json(),
  brokenText,
  doubled,
  deep,
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom('', 'null', '{}', '[]'),
);

/** Generates bodies with which a creation may succeed. */
const likely = fc.oneof(
  fc
    .record({ name: text, description: fc.option(text) }, { requiredKeys: ['name'] })
    .map((given) => [TLDS, given] as const),
  fc
    .record(
      {
        name: text,
        algorithm: fc.constantFrom(
          'hmac-md5',
          'hmac-sha1',
          'hmac-sha224',
          'hmac-sha256',
          'hmac-sha384',
          'hmac-sha512',
        ),
        secret: text,
        scope: fc.constantFrom('POOL', 'ZONE'),
        resource_id: fc.oneof(
          fc.uuid(),
          fc.uuid().map((id) => `{${id.toUpperCase()}}`),
        ),
      },
      { requiredKeys: ['name', 'algorithm', 'scope', 'resource_id'] },
    )
    .map((given) => [TSIGKEYS, given] as const),
);

test('201 or 400 for a creation with any body', async () => {
  await fc.assert(
    fc.asyncProperty(sample, anyBody, async (type, body) => {
      const response = await sendAny(
        service,
        `POST ${pathOf(type)} HTTP/1.1`,
        withBody(service, body),
        body,
      );
      if (response.status === 201) await forget(type, JSON.parse(response.body) as Resource);
      else expect(response.status).toBe(400);
    }),
    { numRuns: randomCases(150) },
  );
});

test('200 or 400 for an update with any body', async () => {
  await fc.assert(
    fc.asyncProperty(sample, anyBody, async (type, body) => {
      const path = pathOf(type, targets.get(type)?.id ?? '');
      const response = await sendAny(
        service,
        `PATCH ${path} HTTP/1.1`,
        withBody(service, body),
        body,
      );
      expect([200, 400]).toContain(response.status);
      if (response.status === 200)
        expect((await service.get(path)).body).toEqual({
          ...JSON.parse(response.body),
          links: { self: service.url + path },
        });
    }),
    { numRuns: randomCases(150) },
  );
});

test('200 with the given values for every created resource', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(likely, async ([type, given]) => {
      const body = JSON.stringify(given);
      const response = await sendAny(
        service,
        `POST ${pathOf(type)} HTTP/1.1`,
        withBody(service, body),
        body,
      );
      if (response.status !== 201) return;
      accepted += 1;
      const made = JSON.parse(response.body) as Resource;
      const id = 'resource_id' in given ? { resource_id: normaliseUuid(given.resource_id) } : {};
      expect(made).toMatchObject({ ...given, ...id });
      const read = await service.get(pathOf(type, made.id));
      expect(read.body).toEqual({ ...made, links: { self: service.url + pathOf(type, made.id) } });
      const listed = await service.get(
        `${pathOf(type)}?name=${encodeURIComponent(made.name.replaceAll('*', '?'))}`,
      );
      if (!made.name.includes('*')) expect(listed.body[type.collection]).toEqual([read.body]);
      await forget(type, made);
    }),
    { numRuns: randomCases(150) },
  );
  expect(accepted).toBeGreaterThan(randomCases(30));
});

test('201 or 4xx for a chunked body, as for the same body with a Content-Length', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        likely.map(([, given]) => JSON.stringify(given)),
        brokenText,
      ),
      fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 8 }),
      async (body, sizes) => {
        let rest = Buffer.from(body);
        const chunks = [...sizes, rest.length].map((size) => {
          const chunk = rest.subarray(0, size);
          rest = rest.subarray(size);
          return chunk.length === 0
            ? Buffer.alloc(0)
            : Buffer.concat([
                Buffer.from(`${chunk.length.toString(16)}\r\n`),
                chunk,
                Buffer.from('\r\n'),
              ]);
        });
        const path = pathOf(TLDS, UNKNOWN_ID);
        const whole = await sendAny(
          service,
          `PATCH ${path} HTTP/1.1`,
          withBody(service, body),
          body,
        );
        const head = [
          ...usual(service),
          'Content-Type: application/json',
          'Transfer-Encoding: chunked',
        ];
        const chunked = await sendAny(
          service,
          `PATCH ${path} HTTP/1.1`,
          head,
          Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]),
        );
        expect(chunked.status).toBe(whole.status);
      },
    ),
    { numRuns: randomCases(100) },
  );
});
