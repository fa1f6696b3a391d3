import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { keyOf } from './access.ts';
import { nsd as brand, nsdKey, nsdPattern } from './brand.ts';
import type { AccessLists } from '../desired-state.ts';
import { canonicalKey, readAlgorithm, type Key } from '../../formats/key.ts';
import { nsdEntries, readNsdKeys } from '../../formats/read-nsd.ts';
import { integer } from '../../core/field.ts';
import { described, object, optional, withDefault } from '../../core/object.ts';
import { comparisonForm, nameForm } from '../../core/text/dns-name.ts';
import { withConnection, type Endpoint } from '../../net/connection.ts';
import { describeFault, NetError } from '../../net/faults.ts';
import { driverErrors } from '../driver-errors.ts';
import { defineDriver, DriverError, unmet, type Requirement } from '../driver.ts';
import { createFileDriver } from '../file-driver.ts';
import { loadedKeys, type FileServer } from '../file-server.ts';
import { FILE_MEMBERS, OPTION_LINE } from '../include-file.ts';
import { outputOf, printedBy } from '../programs.ts';

const CONTROL_PORT = 8952;

/** The maximum number of commands that skip the rest of a faulty configuration. */
const MAX_REST = 200;

const options = object({
  ...FILE_MEMBERS,
  configurationFile: withDefault(
    described(OPTION_LINE, 'The configuration file of NSD.'),
    '/etc/nsd/nsd.conf',
  ),
  controlSocket: withDefault(
    described(
      OPTION_LINE,
      'The Unix socket of the control channel. Ignored if `controlHost` is set.',
    ),
    '/run/nsd/nsd.sock',
  ),
  controlHost: optional(described(OPTION_LINE, 'The address of a control channel with TLS.')),
  controlPort: withDefault(
    described(integer(1, 65_535), 'The port of the control channel.'),
    CONTROL_PORT,
  ),
  controlKeyFile: withDefault(
    described(OPTION_LINE, 'The private key of the client, for TLS.'),
    '/etc/nsd/nsd_control.key',
  ),
  controlCertificateFile: withDefault(
    described(OPTION_LINE, 'The certificate of the client, for TLS.'),
    '/etc/nsd/nsd_control.pem',
  ),
  serverCertificateFile: withDefault(
    described(OPTION_LINE, 'The certificate of NSD, for TLS.'),
    '/etc/nsd/nsd_server.pem',
  ),
});

/**
 * NSD: a file with keys and patterns, loaded by `reconfig` over the control channel. The patterns
 * are `tsigil-transfer` for keys of all zones, and `tsigil-transfer-example.org` for the keys of
 * one zone. NSD has no dynamic updates.
 */
export const nsd = defineDriver({
  options,
  create(given, id) {
    const { controlHost: host, controlPort: port, controlSocket: path } = given;
    const place = `The control channel of NSD at ${host === undefined ? `'${path}'` : `${host} port ${port}`}`;
    const run = (command: string, signal: AbortSignal) =>
      driverErrors(place, signal, async () =>
        send(
          host === undefined ? { path } : { host, port, tls: await readTls(given) },
          command,
          signal,
        ),
      );
    let wasRefused = false;
    const server: FileServer = {
      brand,
      format: 'nsd',
      checker: (file) => ['nsd-checkconf', file],
      keyStart: 'key:',
      readKeys: readNsdKeys,
      render,
      lists: listsIn,
      async load(signal) {
        // After a syntax error, NSD reads the rest of the faulty file at the next commands, up to one
        // error at each, and may load it. So it is not told to read a file that is still faulty.
        let problem = wasRefused ? await problemOf(given.configurationFile, signal) : undefined;
        for (let rest = 0; ; rest += 1) {
          if (problem !== undefined && problem !== '') throw refused(problem);
          const text = await run('reconfig', signal);
          if (/^ok$/m.test(text) && !/^error/m.test(text)) {
            if (rest > 0) await run('reconfig', signal); // this one may have read only the rest
            wasRefused = false;
            return;
          }
          wasRefused = true;
          problem ??= await problemOf(given.configurationFile, signal);
          if (problem === undefined || rest === MAX_REST) throw refused(text);
        }
      },
      async inspect(signal) {
        const answer = await run('print_tsig', signal);
        return loadedKeys(answer, () => readPrintedKeys(answer));
      },
      async printed(signal) {
        const checked = await printedBy('nsd-checkconf', ['-v', given.configurationFile], signal);
        const added = zonesAdded(await run('zonestatus', signal), checked);
        return { format: 'nsd', program: 'nsd-checkconf -v', text: checked + added };
      },
      configurationOption: 'configurationFile',
      configurationFile: () => Promise.resolve(given.configurationFile),
      // NSD refuses a configuration in which a key is missing.
      references: (text, include, path) =>
        new Map(
          nsdEntries(text, include)
            .filter(({ section }) => section === 'zone:' || section === 'pattern:')
            .flatMap(({ attributes }) => attributes)
            .flatMap(({ name, values, line, file }) => {
              const key = keyOf(name, values);
              const place = `${file?.path ?? path}:${line}`;
              return key === undefined ? [] : [[nameForm(key), place] as const];
            })
            .toReversed(), // the first place counts
        ),
      check: async (signal) => [await checkPlainPort(host ?? '127.0.0.1', port, signal)],
    };
    return createFileDriver(server, given, id);
  },
});

async function send(endpoint: Endpoint, command: string, signal: AbortSignal): Promise<string> {
  return withConnection(endpoint, signal, async (connection) => {
    connection.send(Buffer.from(`NSDCT1 ${command}\n`));
    return (await connection.readToEnd()).toString();
  });
}

async function readTls(given: {
  readonly controlKeyFile: string;
  readonly controlCertificateFile: string;
  readonly serverCertificateFile: string;
}): Promise<ConnectionOptions> {
  const read = async (file: string) => {
    try {
      return await readFile(file, 'utf8');
    } catch (cause) {
      throw new DriverError(
        'not_permitted',
        `A certificate or key of the control channel cannot be read: ${describeFault(cause)}.`,
        "Run 'nsd-control-setup', and let the user of this process read the files.",
        cause,
      );
    }
  };
  return {
    key: await read(given.controlKeyFile),
    cert: await read(given.controlCertificateFile),
    ca: await read(given.serverCertificateFile),
    // The certificate has the name `nsd`, regardless of the address.
    checkServerIdentity: () => undefined,
  };
}

function refused(text: string): DriverError {
  // NSD quotes the word where it stopped, and unknown algorithms. Both can be a secret.
  const reason = text
    .replaceAll(/ at '.*':(?= error)/g, '')
    .replaceAll(/(?<=\balgorithm ).+/g, "'...'")
    .trim()
    .split('\n')
    .join('; ');
  return new DriverError(
    'refused_by_server',
    `NSD refused the new configuration: ${reason}.`,
    "Run 'nsd-checkconf' on the server, and read the log of NSD.",
  );
}

/** Returns '' for none, and undefined if it cannot read the file or run `nsd-checkconf`. */
async function problemOf(file: string, signal: AbortSignal): Promise<string | undefined> {
  return access(file, constants.R_OK)
    .then(() => outputOf('nsd-checkconf', [file], signal))
    .catch(() => undefined);
}

/**
 * Returns the zones that `nsd-control addzone` created, which are not in the configuration, as its
 * sections. `status` is the output of `zonestatus`.
 */
function zonesAdded(status: string, checked: string): string {
  const names = [...checked.matchAll(/^zone:\n\tname: "([^"]*)"/gm)].map(([, name = '']) => name);
  const known = new Set(names.map(nameForm));
  return [...status.matchAll(/^zone:[ \t]+(\S+)\n[ \t]+pattern: (\S+)/gm)]
    .filter(([, name = '']) => !known.has(nameForm(name)))
    .map(([, name, pattern]) => `\nzone:\n\tname: "${name}"\n\tinclude-pattern: "${pattern}"\n`)
    .join('');
}

/** Reads one key on each line. NSD prints `sha256` for a key without algorithm. */
function readPrintedKeys(text: string): ReadonlyMap<string, Key> {
  const lines = /^key: name: "([^"]*)" secret: "([^"]*)" algorithm: (\S+)/gm;
  const keys = [...text.matchAll(lines)].map(([, name = '', secret = '', algorithm = '']) =>
    canonicalKey({ name, algorithm: readAlgorithm(algorithm) ?? algorithm, secret }),
  );
  return new Map(keys.map((key) => [key.name, key]));
}

/**
 * Checks that the control channel has no port without TLS. NSD opens such a port if its
 * configuration lists a Unix socket and then an IP address. On this port, NSD shows all secrets.
 */
async function checkPlainPort(
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Requirement> {
  const requirement = `NSD accepts no commands without TLS at ${host} port ${port}.`;
  const isOpen = await send({ host, port }, 'status', signal).then(
    (text) => /^version:/m.test(text),
    (error: unknown) => {
      if (error instanceof NetError || signal.aborted) return false;
      throw error;
    },
  );
  if (!isOpen) return { requirement, ok: true };
  return unmet(requirement, {
    message: 'Anyone who can connect to the port can read the secrets of all keys.',
    hint: 'Remove the IP addresses or the Unix socket from `control-interface`.',
  });
}

function listsIn(content: string): AccessLists {
  const lists = new Map<string, string[]>();
  let members: string[] = [];
  const lines = /^ {4}(?:name: "(tsigil-transfer[a-z0-9._-]*)"|provide-xfr: \S+ "([^"]+)")$/gm;
  for (const [, list, key] of content.matchAll(lines))
    if (list !== undefined) lists.set(list, (members = []));
    else if (key !== undefined) members.push(comparisonForm(key));
  return new Map([...lists].map(([list, keys]) => [list, [...new Set(keys)]]));
}

function* render(keys: readonly Key[], lists: AccessLists): Iterable<string> {
  for (const key of keys) yield nsdKey(key);
  for (const [name, members] of lists) yield nsdPattern(name, members);
}
