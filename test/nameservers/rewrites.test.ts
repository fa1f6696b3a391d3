import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  addressOf,
  matrixOf,
  type Row,
  type ServerConfiguration,
} from '../../src/domain/access/access.ts';
import { ACCESS_READERS } from '../../src/domain/access/readers.ts';
import {
  applyEdits,
  differencesAfter,
  editedSource,
  inOrder,
  type Rewriter,
  type Source,
} from '../../src/domain/access/rewrite.ts';
import { rewriteKnot } from '../../src/domain/access/rewrite-knot.ts';
import { rewriteNsd } from '../../src/domain/access/rewrite-nsd.ts';
import { RIGHTS, type Right } from '../../src/domain/brands/brand.ts';
import type { Key } from '../../src/domain/key-formats/key.ts';
import { isPermitted } from '../harness/access.ts';
import { knotc } from '../harness/brands/knot.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { run } from '../harness/tools.ts';
import { KEYS, knotSearch, nsdSearch, SOURCES, type Search } from '../harness/random-access.ts';
import { ownFile } from '../harness/rewrites.ts';
import { temporaryFolder } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';

interface Subject {
  readonly search: Search;
  readonly format: 'knot' | 'nsd';
  readonly rewrite: Rewriter;
  /** The program that checks a configuration file. */
  readonly check: (file: string) => [string, ...string[]];
  reload(server: DrivenServer): void;
}

const SUBJECTS: readonly Subject[] = [
  {
    search: knotSearch,
    format: 'knot',
    rewrite: rewriteKnot,
    check: (file) => ['knotc', '-c', file, 'conf-check'],
    reload: (server) => knotc(server, 'reload'),
  },
  {
    search: nsdSearch,
    format: 'nsd',
    rewrite: rewriteNsd,
    check: (file) => ['nsd-checkconf', file],
    reload: ({ folder }) =>
      void run(folder, 'nsd-control', '-c', join(folder, 'nsd.conf'), 'reconfig'),
  },
];

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

/**
 * Returns a random configuration with some of its sections in included files, and with names of
 * keys in upper case and with a final dot.
 */
function fleetOf(
  { search }: Subject,
  seed: number,
  zones: readonly string[],
  folder: string,
  port: number,
): Fleet {
  const text = search
    .configure(seed, zones, folder, port, 0)
    .replaceAll('k2.example', 'K2.Example.')
    .replaceAll('"K2.Example.."', '"K2.Example."');
  const path = join(folder, search.file);
  const files = new Map<string, string>();
  const blocks = text.split(/^(?=\S)/m).map((block, index) => {
    if (chooses(seed, `block ${index}`)) return block;
    const part = join(folder, `part-${index}.conf`);
    files.set(part, block);
    return `include: "${part}"\n`;
  });
  files.set(path, blocks.join(''));
  const include = ({ pattern }: { readonly pattern: string }) => [
    { path: pattern, text: files.get(pattern) ?? '' },
  ];
  const source = { path, text: blocks.join(''), include };
  return { source, files, own: join(folder, 'keys', 'own.conf') };
}

function read({ format }: Subject, { text, include, path }: Source): ServerConfiguration {
  const configuration = ACCESS_READERS[format]?.(text, include, path);
  if (configuration === undefined) throw new Error(`${format} has no reader`);
  return configuration;
}

/** Returns what a seed moves: all or some of the keys, with all or some of their rights. */
function movedOf(seed: number, rows: readonly Row[]): { keys: readonly Key[]; rows: Row[] } {
  const isMoved = (what: string) => seed % 2 === 0 || chooses(seed, what);
  const keys = KEYS.filter(({ name }) => seed % 4 < 2 || isMoved(name));
  const chosen = rows
    .filter(({ key }) => keys.some(({ name }) => name === key))
    .map((row) => ({
      ...row,
      zones: row.zones.filter((zone) => isMoved(`${row.key} ${row.right} ${zone}`)),
    }));
  return { keys, rows: chosen };
}

function rightsOf(rows: readonly Row[]): string[] {
  return rows.flatMap(({ key, right, zones }) => zones.map((zone) => `${key} ${right} ${zone}`));
}

/** Returns who may do what, as `ask` says for each zone, right, key and address. */
async function tableOf(
  zones: readonly string[],
  ask: (zone: string, right: Right, key: Key, from: string) => Promise<boolean>,
): Promise<string[]> {
  const rows: string[] = [];
  for (const zone of zones)
    for (const right of RIGHTS)
      for (const key of KEYS) {
        const all = await Promise.all(SOURCES.map((from) => ask(zone, right, key, from)));
        rows.push(`${key.name} ${right} ${zone}: ${all.join()}`);
      }
  return rows;
}

describe.each(SUBJECTS)('$search.brand.name', (subject) => {
  const { search, format, rewrite, check, reload } = subject;
  const test_ = test.skipIf(!search.brand.isInstalled());

  test_('accepts its rewritten configuration, which permits what it permitted', () => {
    const zones = [...ZONES, ...Array.from({ length: 10 }, (_, index) => `z${index}.test`)];
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'keys'));
    for (const zone of zones) writeFileSync(join(folder, `${zone}.zone`), '');
    let count = 0;
    for (let seed = 0; seed < sized(20, 200); seed += 1) {
      const { source, files, own: path } = fleetOf(subject, seed, zones, folder, 53);
      const move = movedOf(seed, matrixOf(read(subject, source)).rows);
      const names = new Set(move.keys.map(({ name }) => name));
      const edits = rewrite(source, { keys: names, rows: move.rows, file: path });
      const own = ownFile(format, path, move.keys, zones, move.rows);
      expect(differencesAfter(format, source, edits, own), `seed ${seed}`).toEqual([]);

      // Without rights in Tsigil's file, none of them is left.
      const empty = ownFile(format, path, move.keys, zones, []);
      const without = matrixOf(read(subject, editedSource(source, edits, empty)));
      const moved = new Set(rightsOf(move.rows));
      expect(rightsOf(without.rows).filter((right) => moved.has(right))).toEqual([]);
      count += moved.size;

      writeFileSync(path, own.text);
      for (const [file, text] of files)
        writeFileSync(file, applyEdits(text, inOrder(edits.filter((edit) => edit.file === file))));
      const [program, ...parameters] = check(source.path);
      run(folder, program, ...parameters);
    }
    expect(count).toBeGreaterThan(sized(20, 200));
  });

  test_.each(Array.from({ length: sized(2, 10) }, (_, seed) => seed))(
    'permits on the running server what it permitted, and no longer what Tsigil revokes, seed %i',
    { timeout: 300_000 },
    async (seed) => {
      const zones = [...ZONES, ...Array.from({ length: 10 }, (_, index) => `z${index}.test`)];
      let fleet: Fleet | undefined;
      const server = await startDrivenServer(
        {
          ...search.brand,
          configure(folder, port) {
            fleet = fleetOf(subject, seed, zones, folder, port);
            for (const [file, text] of fleet.files) writeFileSync(file, text);
          },
        },
        zones,
      );
      onTestFinished(() => server.remove());
      if (fleet === undefined) throw new Error('the server was not configured');
      const { source, files, own: path } = fleet;

      const asked = () =>
        tableOf(zones, (zone, right, key, from) =>
          isPermitted(server.address, from, zone, right, key),
        );
      const before = await asked();

      const { rows, keys } = movedOf(seed, matrixOf(read(subject, source)).rows);
      const names = new Set(keys.map(({ name }) => name));
      const edits = rewrite(source, { keys: names, rows, file: path });
      const empty = ownFile(format, path, keys, zones, []);
      writeFileSync(path, empty.text);
      for (const [file, text] of files)
        writeFileSync(file, applyEdits(text, inOrder(edits.filter((edit) => edit.file === file))));
      const revoked = read(subject, editedSource(source, edits, empty));
      const said = await tableOf(zones, async (zone, right, key, from) => {
        const list = revoked.zones.find(({ name }) => name === zone)?.lists[right];
        // Limits of single rules are not evaluated, and do not change.
        return list?.inexpressible?.has(key.name) === true
          ? isPermitted(server.address, from, zone, right, key)
          : (list?.permits({ address: addressOf(from), key: key.name }) ?? false);
      });
      reload(server);
      const soon = { timeout: 30_000, interval: 100 };
      await vi.waitFor(async () => {
        expect(await asked()).toEqual(said);
      }, soon);
      if (rightsOf(rows).length > 0) expect(said).not.toEqual(before);

      writeFileSync(path, ownFile(format, path, keys, zones, rows).text);
      reload(server);
      await vi.waitFor(async () => {
        expect(await asked()).toEqual(before);
      }, soon);
    },
  );
});
