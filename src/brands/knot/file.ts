import type { PrintedConfiguration } from '../../access/access.ts';
import { knot as brand, knotKey, knotRule } from './brand.ts';
import type { AccessLists } from '../desired-state.ts';
import { canonicalKey, type Key } from '../../formats/key.ts';
import { knotEntries, readKnotKeys } from '../../formats/read-knot.ts';
import { quoted } from '../../formats/writer.ts';
import { comparisonForm, nameForm } from '../../core/text/dns-name.ts';
import { DriverError } from '../driver.ts';
import { loadedKeys, type FileServer } from '../file-server.ts';
import { MAX_REASON, outputOf } from '../programs.ts';
import { knotControl, unitsIn, type KnotUnit } from './control.ts';

/** The beginning of a key or of an access rule in the file. */
const KEY_START = '  - id: "';

/**
 * A Knot server with a text configuration, which it reads after `reload` over the control socket.
 * The rules for keys of all zones are `tsigil-transfer` and `tsigil-update`. For the keys of one
 * zone, these names end with the zone's name: `tsigil-transfer-example.org`.
 */
export function knotFile(controlSocket: string, configurationFile: string): FileServer {
  const run = (command: KnotUnit, signal: AbortSignal) =>
    knotControl(controlSocket, signal, (connection) => connection.run(command));
  return {
    brand,
    format: 'knot',
    checker: (file) => ['knotc', '-c', file, 'conf-check'],
    keyStart: KEY_START,
    readKeys: (content, include) =>
      readKnotKeys(content.startsWith(KEY_START) ? `key:\n${content}` : content, include),
    render,
    lists: listsIn,
    printed: (signal) => printedByKnot(controlSocket, signal),
    configurationOption: 'configurationFile',
    configurationFile: () => Promise.resolve(configurationFile),
    // Knot DNS refuses a configuration in which a key is missing.
    references: (text, include, path) =>
      new Map(
        knotEntries(text, ['remote', 'acl'], include)
          .flatMap(({ items }) => items.get('key') ?? [])
          .flatMap(({ values, origin: { line, file } }) =>
            values.map((name) => [nameForm(name), `${file?.path ?? path}:${line}`] as const),
          )
          .toReversed(), // the first place counts
      ),
    async load(signal) {
      const units = await run({ command: 'reload' }, signal);
      const error = units.find((unit) => unit.error !== undefined)?.error;
      if (error !== undefined)
        throw new DriverError(
          'refused_by_server',
          `Knot DNS refused the new configuration: ${(await reason(configurationFile, signal)) ?? error}.`,
          "Run 'knotc conf-check' on the server, and read the log of Knot DNS.",
        );
    },
    async inspect(signal) {
      const answer = await knotControl(controlSocket, signal, (connection) =>
        connection.ask({ command: 'conf-read', section: 'key' }),
      );
      return loadedKeys(answer, () => keysOf(unitsIn(answer)));
    },
  };
}

/**
 * Returns the first problem of a configuration, with its file and line, but without its value, which
 * can be a secret. Returns undefined if `knotc` finds none or cannot run.
 */
async function reason(configurationFile: string, signal: AbortSignal): Promise<string | undefined> {
  const output = await outputOf('knotc', ['-c', configurationFile, 'conf-check'], signal).catch(
    () => '',
  );
  return /^error: (?:config, )?(.+)$/m
    .exec(output)?.[1]
    ?.replaceAll(/, (?:value '.*'|item '(?![a-z-]{1,30}')[^']*')/g, '')
    .slice(0, MAX_REASON);
}

async function printedByKnot(
  controlSocket: string,
  signal: AbortSignal,
): Promise<PrintedConfiguration> {
  const units = await knotControl(controlSocket, signal, (connection) =>
    connection.run({ command: 'conf-read' }),
  );
  let section = '';
  const lines = units.map(({ section: name = '', item = '', id, data = '' }) => {
    const head = name === section ? '' : `${name}:\n`;
    section = name;
    // The value of the first item of an entry is its id.
    const isId = id === undefined && ['id', 'domain', 'target'].includes(item);
    return `${head}${isId ? '  - ' : '    '}${item}: ${quoted(data)}\n`;
  });
  return { format: 'knot', program: 'knotc conf-read', text: lines.join('') };
}

/** Returns the keys in the response to `conf-read key`. */
function keysOf(units: readonly KnotUnit[]): ReadonlyMap<string, Key> {
  const parts = new Map<string, Record<string, string>>();
  for (const { item, id, data } of units)
    if (item !== undefined && id !== undefined && data !== undefined) {
      const part = parts.get(id) ?? {};
      part[item] = data;
      parts.set(id, part);
    }
  const keys = [...parts].map(([name, { algorithm = '', secret = '' }]) =>
    canonicalKey({ name, algorithm, secret }),
  );
  return new Map(keys.map((key) => [key.name, key]));
}

function listsIn(content: string): AccessLists {
  const rules = content.matchAll(/^ {2}- id: "(tsigil-[a-z0-9._-]+)"\n {4}action: .*\n {4}(.*)$/gm);
  return new Map(
    [...rules].map(([, name = '', access = '']) => [
      name,
      access.startsWith('key:')
        ? [...access.matchAll(/"([^"]+)"/g)].map(([, key = '']) => comparisonForm(key))
        : [],
    ]),
  );
}

function* render(keys: readonly Key[], lists: AccessLists): Iterable<string> {
  if (keys.length > 0) yield 'key:\n';
  for (const key of keys) yield knotKey(key);
  yield 'acl:\n';
  for (const [name, members] of lists) yield knotRule(name, members);
}
