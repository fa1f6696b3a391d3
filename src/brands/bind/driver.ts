import { readFile } from 'node:fs/promises';
import { bind as brand } from './brand.ts';
import { canonicalKey, keyProblems, type Key } from '../../formats/key.ts';
import { readBindKeys } from '../../formats/read-bind.ts';
import { enumeration, integer } from '../../core/field.ts';
import { described, object, optional, withDefault } from '../../core/object.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { describeFault } from '../../net/faults.ts';
import { driverErrors } from '../driver-errors.ts';
import { defineDriver, DriverError, DuplicateKeyError } from '../driver.ts';
import { createFileDriver } from '../file-driver.ts';
import type { FileServer } from '../file-server.ts';
import { FILE_MEMBERS, OPTION_LINE } from '../include-file.ts';
import { MAX_REASON, outputOf, printedBy } from '../programs.ts';
import { listsIn, MARKER, render, ZONE_LISTS } from './keys-and-lists.ts';
import { neededKeys } from './needed-keys.ts';
import { rndc, type RndcResult } from './rndc.ts';

/**
 * The name of the key that named makes at startup for dynamic updates on its own host, unless the
 * option `session-keyname` changes it.
 */
const SESSION_KEY = 'local-ddns';

/** What named reports if a key has the name of the session key. `named-checkconf` accepts it. */
const EXISTS = 'already exists';

const options = object({
  ...FILE_MEMBERS,
  controlHost: withDefault(
    described(OPTION_LINE, 'The address of the control channel.'),
    '127.0.0.1',
  ),
  controlPort: withDefault(described(integer(1, 65_535), 'The port of the control channel.'), 953),
  controlKeyFile: withDefault(
    described(OPTION_LINE, 'The file with the key of the control channel.'),
    '/etc/bind/rndc.key',
  ),
  controlKey: optional(
    described(OPTION_LINE, 'The name of the control key, if the file has several keys.'),
  ),
  zoneLists: withDefault(
    described(
      enumeration(Object.keys(ZONE_LISTS) as (keyof typeof ZONE_LISTS)[]),
      'Which access lists for single zones the file contains: all, only lists for transfers, or only lists with keys.',
    ),
    'all',
  ),
});

/**
 * BIND 9: a file with the keys and with named access lists, loaded by `rndc reconfig`. The lists
 * for keys of all zones are `tsigil-transfer` and `tsigil-update`. For the keys of one zone, these
 * names end with the zone's name: `tsigil-transfer-example.org`.
 */
export const bind = defineDriver({
  options,
  create(given, id) {
    const endpoint = { host: given.controlHost, port: given.controlPort };
    const place = `The control channel of BIND at ${given.controlHost} port ${given.controlPort}`;
    const run = (command: string, signal: AbortSignal) =>
      driverErrors(place, signal, async () => {
        const key = await readControlKey(given.controlKeyFile, given.controlKey);
        return rndc(endpoint, key, command, Date.now, signal);
      });
    const mainFile = async (signal: AbortSignal): Promise<string | undefined> => {
      const { text } = await run('status', signal);
      return /^configuration file: (\/.+)$/m.exec(text)?.[1];
    };
    const server: FileServer = {
      brand,
      format: 'bind',
      checker: (file) => ['named-checkconf', file],
      configurationFile: mainFile,
      zoneRights: ZONE_LISTS[given.zoneLists],
      keyStart: 'key "',
      readKeys: (content, include) => readBindKeys(content.replace(MARKER.pattern, ''), include),
      render,
      lists: listsIn,
      stamp: MARKER,
      async load(signal) {
        const { code, text } = await run('reconfig', signal);
        if (code === 0) return;
        const Refusal = text === EXISTS ? DuplicateKeyError : DriverError;
        throw new Refusal(
          'refused_by_server',
          `BIND refused the new configuration: ${await reason(signal).catch(() => text)}.`,
          "Run 'named-checkconf' on the server, and read the log of BIND.",
        );
      },
      async inspect(signal) {
        const { text } = await run('tsig-list', signal);
        return {
          names: () => undefined, // see MARKER
          certain: true,
          has(content) {
            const [, stamp] = MARKER.pattern.exec(content) ?? [];
            return stamp !== undefined && text.includes(`"${brand.ownKeys}${stamp}"`);
          },
        };
      },
      async duplicates(signal) {
        const output = await checkConfiguration(signal);
        return namesIn(output, /key '([^']+)': already exists/g);
      },
      async printed(signal, zones) {
        const main = await mainFile(signal);
        const parameters = main === undefined ? ['-p'] : ['-p', main];
        const text = await printedBy('named-checkconf', parameters, signal);
        const show = (command: string) => run(command, signal);
        const whole = zones === undefined ? text : await withAddedZones(text, zones, show);
        return { format: 'bind', program: 'named-checkconf -p', text: whole };
      },
      references: neededKeys,
      isReserved: (name) => name === SESSION_KEY,
      async configured(signal) {
        const output = await checkConfiguration(signal, '-px');
        return namesIn(output, /^\s*(?:key|session-keyname) "([^"]+)"(?: \{|;)$/gm);
      },
    };
    /** Returns what `named-checkconf` prints. Throws if the program cannot run. */
    const checkConfiguration = async (
      signal: AbortSignal,
      ...flags: readonly string[]
    ): Promise<string> => {
      const main = await mainFile(signal);
      return main === undefined ? '' : outputOf('named-checkconf', [...flags, main], signal);
    };
    /** Returns the first problem of the configuration. Throws if `named-checkconf` reports none. */
    const reason = async (signal: AbortSignal): Promise<string> => {
      const [line] = (await checkConfiguration(signal)).trim().split('\n');
      if (line === undefined || line === '') throw new Error('named-checkconf printed nothing');
      // For a syntax error, named-checkconf quotes text that can be a secret.
      return line
        .replaceAll(/((?:ACL|key|zone) )?'[^']*'?/g, (quoted, kind?: string) =>
          kind === undefined ? "'...'" : quoted,
        )
        .slice(0, MAX_REASON);
    };
    return createFileDriver(server, given, id);
  },
});

/**
 * Returns the output of `named-checkconf -p` with those zones that `rndc addzone` created. BIND has
 * no list of them, so `show` asks for each zone in each view that lacks it.
 */
async function withAddedZones(
  text: string,
  zones: () => Promise<readonly string[]>,
  show: (command: string) => Promise<RndcResult>,
): Promise<string> {
  if (!/^\s*allow-new-zones yes;$/m.test(text)) return text;
  const known = await zones();
  const added = async (content: string, view = '') => {
    const names = [...content.matchAll(/^\s*zone "([^"]*)"/gm)].map(([, name = '']) => name);
    const present = new Set(names.map(comparisonForm));
    let lines = '';
    for (const name of known) {
      if (present.has(name) || !/^[\w.*/-]+$/.test(name)) continue;
      const { code, text: shown } = await show(`showzone ${name} IN ${view}`.trimEnd());
      if (code === 0) lines += `${shown}\n`;
    }
    return lines;
  };
  const views = [...text.matchAll(/^view "([^"]*)"[^{]*\{\n[^]*?^(?=\};$)/gm)];
  if (views.length === 0) return text + (await added(text));
  let [whole, end] = ['', 0];
  for (const { 0: content, 1: view, index } of views) {
    whole += text.slice(end, index) + content + (await added(content, view));
    end = index + content.length;
  }
  return whole + text.slice(end);
}

function namesIn(output: string, pattern: RegExp): ReadonlySet<string> {
  return new Set([...output.matchAll(pattern)].map(([, name = '']) => comparisonForm(name)));
}

async function readControlKey(file: string, name: string | undefined): Promise<Key> {
  const hint = 'Set `controlKeyFile` to the file with the key of the `controls` statement.';
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const problem = `The control key cannot be read: ${describeFault(cause)}.`;
    throw new DriverError('not_permitted', problem, hint, cause);
  }
  const keys = readBindKeys(text).flatMap((entry) => ('key' in entry ? [entry.key] : []));
  const key = keys
    .map(canonicalKey)
    .find((each) => name === undefined || each.name === comparisonForm(name));
  if (key === undefined || keyProblems(key).length > 0)
    throw new DriverError('not_permitted', `The file '${file}' has no valid control key.`, hint);
  return key;
}
