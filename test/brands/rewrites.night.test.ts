import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  addressOf,
  matrixOf,
  type Row,
  type ServerConfiguration,
} from '../../src/access/access.ts';
import { ACCESS_READERS } from '../../src/brands/access-readers.ts';
import {
  applyEdits,
  differencesAfter,
  editedSource,
  inOrder,
  type Source,
} from '../../src/brands/rewrite.ts';
import { REWRITERS } from '../../src/brands/rewriters.ts';
import { RIGHTS, type Right } from '../../src/access/rights.ts';
import { canonicalKey, type Key } from '../../src/formats/key.ts';
import type { IncludedFile } from '../../src/formats/reader.ts';
import { isPermitted } from '../harness/access.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { SEARCHES } from '../harness/brands/searches.ts';
import { startDrivenServer, ZONES } from '../harness/driven-server.ts';
import { run } from '../harness/tools.ts';
import { SOURCES, type Search } from '../harness/random-access.ts';
import { ownFile } from '../harness/rewrites.ts';
import { temporaryFolder } from '../harness/service.ts';

interface Subject extends Required<Omit<Search, 'read'>> {
  readonly include: NonNullable<Brand['include']>;
}

const MANY_ZONES = [...ZONES, ...Array.from({ length: 10 }, (_, index) => `z${index}.test`)];

const SUBJECTS = SEARCHES.flatMap(({ configure, ...search }): Subject[] => {
  const { include } = search.brand;
  if (include === undefined) return [];
  return [
    {
      zones: MANY_ZONES,
      sources: SOURCES,
      block: /^/,
      ...search,
      include,
      // One key has a name in upper case and with a final dot.
      configure: (...given) =>
        configure(...given)
          .replaceAll('k2.example', 'K2.Example.')
          .replaceAll('"K2.Example.."', '"K2.Example."'),
    },
  ];
});

/** A configuration of files, and where Tsigil's file will be. */
interface Fleet {
  readonly source: Source;
  readonly files: ReadonlyMap<string, string>;
  readonly own: string;
}

/** Returns whether a seed chooses something. */
function chooses(seed: number, what: string): boolean {
  return (createHash('sha256').update(`${seed} ${what}`).digest()[0] ?? 0) % 4 > 0;
}

/** Returns a random configuration with some of its parts in included files. */
function fleetOf(
  subject: Subject,
  seed: number,
  folder: string,
  port: number,
  controlPort: number,
): Fleet {
  const path = join(folder, subject.brand.main);
  const files = new Map<string, string>();
  const text = subject.configure(seed, subject.zones, folder, port, controlPort);
  const blocks = text.split(/^(?=\S)/m).map((block, index) => {
    if (!subject.block.test(block) || chooses(seed, `block ${index}`)) return block;
    const part = join(folder, `part-${index}.conf`);
    files.set(part, block);
    return subject.include.statement(part);
  });
  files.set(path, blocks.join(''));
  const include = ({ pattern }: { readonly pattern: string }) => [
    { path: pattern, text: files.get(pattern) ?? '' },
  ];
  const source = { path, text: blocks.join(''), include };
  return { source, files, own: join(folder, 'keys', 'own.conf') };
}

function read(
  { brand: { driver } }: Subject,
  { text, include, path }: Source,
): ServerConfiguration {
  const configuration = ACCESS_READERS[driver]?.(text, include, path);
  if (configuration === undefined) throw new Error(`${driver} has no reader`);
  return configuration;
}

function rightsOf(rows: readonly Row[]): string[] {
  return rows.flatMap(({ key, right, zones }) => zones.map((zone) => `${key} ${right} ${zone}`));
}

/** Rewrites a configuration: moves all or some of its keys, with all or some of their rights. */
function rewritten(subject: Subject, seed: number, { source, files, own: path }: Fleet) {
  const isMoved = (what: string) => seed % 2 === 0 || chooses(seed, what);
  const configuration = read(subject, source);
  // BIND would know the key of a view in every view.
  const keys = configuration.keys
    .filter(({ view }) => view === undefined)
    .map(({ key }) => canonicalKey(key))
    .filter(({ name }) => name !== 'rndc-key' && (seed % 4 < 2 || isMoved(name)));
  const names = new Set(keys.map(({ name }) => name));
  const rows = matrixOf(configuration)
    .rows.filter(({ key }) => names.has(key))
    .map((row) => ({
      ...row,
      zones: row.zones.filter((zone) => isMoved(`${row.key} ${row.right} ${zone}`)),
    }));
  const edits = REWRITERS[subject.brand.driver]?.(source, { keys: names, rows, file: path }) ?? [];
  const write = (own: IncludedFile) => {
    writeFileSync(own.path, own.text);
    for (const [file, text] of files)
      writeFileSync(file, applyEdits(text, inOrder(edits.filter((edit) => edit.file === file))));
  };
  return {
    /** The rights that Tsigil can take away. The rules of `update-policy` stay. */
    rights: new Set(
      rightsOf(rows).filter((right) => {
        const zone = /(?<=update ).*/.exec(right)?.[0] ?? '';
        return ![...files.values()].some((text) =>
          new RegExp(`^zone "${zone}".*update-policy`, 'm').test(text),
        );
      }),
    ),
    edits,
    own: ownFile(subject.brand, path, keys, subject.zones, rows),
    /** Tsigil's file with the same keys, without their rights. */
    empty: ownFile(subject.brand, path, keys, subject.zones, []),
    write,
  };
}

/** Returns who may do what, as `ask` says for each zone, right, key and address. */
async function tableOf(
  { zones, keys, sources }: Subject,
  ask: (zone: string, right: Right, key: Key, from: string) => Promise<boolean>,
): Promise<Map<string, string>> {
  const table = new Map<string, string>();
  for (const zone of zones)
    for (const right of RIGHTS)
      for (const key of keys) {
        const all = await Promise.all(sources.map((from) => ask(zone, right, key, from)));
        table.set(`${key.name} ${right} ${zone}`, all.join());
      }
  return table;
}

describe.each(SUBJECTS)('$brand.name', (subject) => {
  const { brand, zones, include } = subject;
  const test_ = test.skipIf(!brand.isInstalled());

  const slow = { timeout: 300_000 };
  test_('accepts its rewritten configuration, which permits what it permitted', slow, () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'keys'));
    let count = 0;
    for (let seed = 0; seed < 40; seed += 1) {
      const fleet = fleetOf(subject, seed, folder, 53, 953);
      const { edits, own, empty, rights, write } = rewritten(subject, seed, fleet);
      const revoked = read(subject, editedSource(fleet.source, edits, empty));
      // What names a key in a negation or to select a view stays, and may permit the key.
      const texts = [...fleet.files.values()].join('');
      const isNegated = (right: string) =>
        new RegExp(`^view |! key "?${right.split(' ')[0] ?? ''}\\b`, 'im').test(texts);
      const left = rightsOf(matrixOf(revoked).rows).filter((right) => rights.has(right));
      expect(
        left.filter((right) => !isNegated(right)),
        `seed ${seed}`,
      ).toEqual([]);
      expect(differencesAfter(brand.driver, fleet.source, edits, own), `seed ${seed}`).toEqual([]);
      count += rights.size;
      write(own);
      run(folder, include.checker.program, ...include.checker.parameters(fleet.source.path));
    }
    expect(count).toBeGreaterThan(40);
  });

  test_.each(Array.from({ length: 3 }, (_, seed) => seed))(
    'permits on the running server what it permitted, and no longer what Tsigil revokes, seed %i',
    slow,
    async (seed) => {
      let fleet: Fleet | undefined;
      const server = await startDrivenServer(
        {
          ...brand,
          configure(folder, port, controlPort) {
            fleet = fleetOf(subject, seed, folder, port, controlPort);
            for (const [file, text] of fleet.files) writeFileSync(file, text);
          },
        },
        zones,
      );
      onTestFinished(() => server.remove());
      if (fleet === undefined) throw new Error('the server was not configured');
      const asked = () =>
        tableOf(subject, (zone, right, key, from) => {
          const ask = () => isPermitted(server.address, from, zone, right, key);
          return ask().catch(ask); // a server may close connections while it loads
        });
      const before = await asked();

      const { edits, own, empty, rights, write } = rewritten(subject, seed, fleet);
      const revoked = read(subject, editedSource(fleet.source, edits, empty));
      const evaluated = await tableOf(subject, (zone, right, { name: key }, from) => {
        const local = from === '127.0.0.1' ? 'localhost' : 'localnets';
        const isSaid = revoked.zones.some(
          ({ name, lists }) =>
            name === zone && lists[right]?.permits({ address: addressOf(from), local, key }),
        );
        return Promise.resolve(isSaid);
      });
      const said = new Map(
        [...before].map(([right, all]) => [right, rights.has(right) ? evaluated.get(right) : all]),
      );
      write(empty);
      include.reload(server);
      const soon = { timeout: 120_000, interval: 100 };
      await vi.waitFor(async () => {
        expect(await asked()).toEqual(said);
      }, soon);
      if (rights.size > 0) expect(said).not.toEqual(before);

      writeFileSync(own.path, own.text);
      include.reload(server);
      await vi.waitFor(async () => {
        expect(await asked()).toEqual(before);
      }, soon);
    },
  );
});
