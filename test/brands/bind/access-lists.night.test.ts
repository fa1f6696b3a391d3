import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf, matrixOf, type Requester } from '../../../src/access/access.ts';
import { readBindAccess } from '../../../src/brands/bind/access.ts';
import { RIGHTS } from '../../../src/access/rights.ts';
import { applyEdits } from '../../../src/brands/rewrite.ts';
import { isPermitted } from '../../harness/access.ts';
import { adoptionOf } from '../../harness/adoption.ts';
import { startDrivenServer } from '../../harness/driven-server.ts';
import {
  configurations,
  KEYS,
  SOURCES,
  textOf,
  writeBind,
  ZONES,
} from '../../harness/brands/bind-search.ts';
import { additionTo } from '../../harness/random-access.ts';
import { hasProgram } from '../../harness/tools.ts';

const SIGNERS = [undefined, ...KEYS];

function everyRequest() {
  return ZONES.flatMap((zone) =>
    RIGHTS.flatMap((right) =>
      SIGNERS.flatMap((key) => SOURCES.map((source) => [zone, right, key, source] as const)),
    ),
  );
}

test('the edits for an adoption change nothing that a configuration permits', () => {
  fc.assert(
    fc.property(configurations, (parts) => {
      const text = `${textOf(parts)}};`;
      // Every view would know the key of a view, so an open zone of another view would accept it.
      const ofViews = readBindAccess(text).keys.filter(({ view }) => view !== undefined);
      const { source, edits, differences } = adoptionOf(
        text,
        ofViews.map(({ key }) => key.name),
      );
      const shown = `${text}\n${applyEdits(source.text, edits)}`;
      expect(differences(), shown.replaceAll(/secret "[^"]*"/g, 'secret "..."')).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

describe.runIf(hasProgram('named', 'bind9'))('BIND', () => {
  test('permits what the evaluation of its configuration says', async () => {
    await fc.assert(
      fc.asyncProperty(configurations, async (parts) => {
        const server = await startDrivenServer({
          name: 'BIND',
          configure(folder, port, controlPort) {
            writeBind(folder, textOf(parts), port, controlPort);
          },
          command: (folder) => ['named', '-c', join(folder, 'named.conf'), '-n', '1', '-g'],
        });
        try {
          const text = `${textOf(parts)}};`;
          const configuration = readBindAccess(text);
          const { rows } = matrixOf(configuration);
          const wrong: string[] = [];
          for (const [zone, right, key, source] of everyRequest()) {
            const name = key?.name ?? '';
            const local = source === '127.0.0.1' ? 'localhost' : 'localnets';
            const requester: Requester = { address: addressOf(source), local, key: key?.name };
            const lists = configuration.zones.flatMap((each) =>
              each.name === zone ? [each.lists[right]] : [],
            );
            const said = lists.some((each) => each?.permits(requester) === true);
            // Of these rules, the evaluation says only whether they may permit anything. BIND merges
            // lists that contradict each other, and may then permit or refuse other requests.
            const isLimited = lists.some((each) =>
              said
                ? each?.inexpressible !== undefined &&
                  (each.inexpressible.has(name) || !each.keys.includes(name))
                : each?.doubt !== undefined,
            );
            const request = right === 'update' ? additionTo(zone) : undefined;
            const ask = () => isPermitted(server.address, source, zone, right, key, request);
            // BIND may close a connection without a response while it is busy.
            const actual = await ask().catch(ask);
            const what = `${right} of ${zone} from ${source} by '${name}'`;
            if (actual !== said && !isLimited) wrong.push(`${what}: ${actual}, not ${said}`);
            const isGrant = rows.some(
              (row) => row.key === name && row.right === right && row.zones.includes(zone),
            );
            if (isGrant && !actual) wrong.push(`${what}: a grant, but refused`);
          }
          expect(wrong, text.replaceAll(/secret "[^"]*"/g, 'secret "..."')).toEqual([]);
        } finally {
          await server.remove();
        }
      }),
      { numRuns: 20, endOnFailure: true },
    );
  }, 600_000);
});
