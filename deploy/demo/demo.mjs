// Demonstrates the delivery of keys on this machine. Usage: npm run demo [-- DRIVER]. Starts a name
// server and the service in a temporary folder. Transfers a zone with a new key, and shows that the
// name server refuses the deleted key. Finally, stops both programs and removes the folder.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { checkRequest } from '../../dist/dns/key-check.js';
import { queryOverUdp } from '../../dist/net/dns.js';
import { copyProgram, installedDrivers, NAME_SERVERS } from './name-servers.mjs';
import { createProcesses, freePort } from './processes.mjs';
import { createTransfers } from './transfers.mjs';

const PROGRAM = resolve(import.meta.dirname, '../../dist/main.js');
const ZONE = 'demo.test';
const KEY_FILE = 'demo-key.conf';
const ZONE_TEXT = `$TTL 60
@ SOA ns.${ZONE}. hostmaster.${ZONE}. 1 3600 600 86400 60
@ NS ns.${ZONE}.
ns A 192.0.2.1
`;

const say = (text) => process.stdout.write(`${text}\n`);
const indent = (text) => say(`   ${text.trimEnd().replaceAll('\n', '\n   ')}`);
const show = (command, output) => indent(`$ ${command}\n${output}`);

/** Returns the driver to use. Throws if its name server is not installed. */
function chooseDriver(wanted) {
  const installed = installedDrivers();
  const known = Object.keys(NAME_SERVERS);
  if (wanted !== undefined && !known.includes(wanted))
    throw new Error(`Unknown driver '${wanted}'. Use one of: ${known.join(', ')}.`);
  const driver = installed.find((each) => wanted === undefined || each === wanted);
  if (driver !== undefined) return driver;
  const [title, packages] =
    wanted === undefined
      ? ['No name server', NAME_SERVERS.bind.packages]
      : [NAME_SERVERS[wanted].title, NAME_SERVERS[wanted].packages];
  const verb = wanted === undefined ? 'is installed' : 'is not installed';
  throw new Error(
    `${title} ${verb}. On Debian, run: sudo apt-get install --no-install-recommends ${packages}`,
  );
}

/** Returns whether a control channel or API accepts a connection. */
function accepts(endpoint) {
  return new Promise((settle) => {
    const socket = connect(endpoint);
    socket.on('connect', () => settle(true)).on('error', () => settle(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function startNameServer(driver, folder, { run, start }) {
  const { title, program, configure, parameters } = NAME_SERVERS[driver];
  const [port, controlPort] = [await freePort(), await freePort()];
  mkdirSync(join(folder, 'keys'));
  writeFileSync(join(folder, `${ZONE}.zone`), ZONE_TEXT);
  const file = join(folder, 'keys/keys.conf');
  const local = await configure({ folder, file, zone: ZONE, port, controlPort, run });
  const control =
    local.controlSocket === undefined
      ? { host: '127.0.0.1', port: controlPort }
      : { path: local.controlSocket };
  const request = { octets: checkRequest('query', ZONE, 1, '') };
  await start(title, copyProgram(program, folder), parameters(folder), async () => {
    const response = queryOverUdp({ host: '127.0.0.1', port }, request, () => true, {
      tries: 1,
      seconds: 0.2,
    }).catch(() => undefined);
    return (await response) !== undefined && accepts(control);
  });
  return { name: 'ns1', driver, address: `127.0.0.1:${port}`, probeZone: `${ZONE}.`, local };
}

/**
 * Starts the service. Returns the environment variables with which the client finds the service.
 */
async function startService(folder, entry, { start }) {
  const file = join(folder, 'tsigil.yaml');
  // Every JSON document is also a YAML document.
  const settings = { listen: '127.0.0.1:0', database: 'sqlite:tsigil.db', nameServers: [entry] };
  writeFileSync(file, JSON.stringify(settings, undefined, 2));
  const url = await start(
    'The service',
    process.execPath,
    [PROGRAM, 'serve', '--config', file],
    (output) => /"url":"([^"]+)".*"msg":"listening"/.exec(output)?.[1],
  );
  const token = readFileSync(join(folder, 'admin.token'), 'utf8').trim();
  return { TSIGIL_URL: url, TSIGIL_TOKEN: token };
}

async function demonstrate(driver, folder, processes) {
  const { title } = NAME_SERVERS[driver];
  say(`This demo runs ${title} and the service in ${folder}, and removes the folder at the end.\n`);
  const server = await startNameServer(driver, folder, processes);
  say(`1. ${title} serves the zone ${ZONE} at ${server.address}, and refuses all transfers.`);
  const variables = await startService(folder, server, processes);
  say(`2. The service runs at ${variables.TSIGIL_URL}, and lists ${title} as the name server ns1.`);
  /** Runs a command of the client. */
  const tsigil = async (...words) => {
    const result = await processes.run(process.execPath, [PROGRAM, ...words], variables);
    if (result.status !== 0)
      throw new Error(`'tsigil ${words.join(' ')}' failed:\n${result.output}`);
    return result;
  };
  const showTsigil = async (...words) =>
    show(`tsigil ${words.join(' ')}`, (await tsigil(...words)).output);
  // A message, such as that a key is still being removed, is on standard error.
  const readJson = async (...words) => JSON.parse((await tsigil(...words, '-f', 'json')).stdout);
  const transfer = createTransfers({
    folder,
    zone: ZONE,
    port: Number(server.address.split(':')[1]),
    run: processes.run,
  });
  const expectTransfer = async (expected, keyFile) => {
    const { command, output, sent } = await transfer(keyFile);
    if (command === undefined) indent(output);
    else show(command, output);
    if (sent !== expected)
      throw new Error(
        `${title} ${sent ? 'sent the zone, but must refuse the transfer' : 'did not send the zone, but must accept the key'}`,
      );
  };
  await showTsigil(
    'zone',
    'create',
    `${ZONE}.`,
    '--email',
    `hostmaster@${ZONE}`,
    '-f',
    'value',
    '-c',
    'name',
  );

  say(
    `\n3. Create a key. The service delivers the key to ${title}, and verifies the key with signed queries.`,
  );
  await showTsigil(
    'tsigkey',
    'create',
    'demo-key',
    '--pool',
    'default',
    '--wait',
    '-f',
    'value',
    '-c',
    'name',
  );
  const { created_at: created } = await readJson('tsigkey', 'show', 'demo-key');
  const [{ verified_at: verified }] = await readJson('tsigkey', 'status', 'demo-key');
  const milliseconds = new Date(`${verified}Z`) - new Date(`${created}Z`);
  say(`   The key was live and verified ${milliseconds} ms after its creation.`);

  say('\n4. Transfer the zone with the key.');
  await showTsigil('tsigkey', 'export', 'demo-key', '--format', 'nsupdate', '-o', KEY_FILE);
  await expectTransfer(true, KEY_FILE);

  say(`\n5. Without the key, ${title} refuses the transfer.`);
  await expectTransfer(false);

  say(`\n6. Delete the key. The service removes the key from ${title}, and verifies the removal.`);
  await showTsigil('tsigkey', 'delete', 'demo-key', '--wait');

  say(`\n7. With the deleted key, ${title} refuses the transfer.`);
  await expectTransfer(false, KEY_FILE);
}

const controller = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(name, () => controller.abort(new Error(`Stopped by ${name}`)));
// The reader may close the output early, as `head` does.
process.stdout.on('error', (error) => controller.abort(error));
process.stderr.on('error', () => undefined);
try {
  const driver = chooseDriver(process.argv[2]);
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-demo-'));
  const processes = createProcesses(folder, controller.signal);
  try {
    await demonstrate(driver, folder, processes);
  } finally {
    await processes.end();
    rmSync(folder, { recursive: true, force: true });
    say(`\nStopped both programs, and removed ${folder}.`);
  }
  say(`docs/nameservers/${driver}.md describes these steps for your own name server.`);
} catch (error) {
  process.stderr.write(`The demo failed: ${error.message}\n`);
  process.exitCode = 1;
}
