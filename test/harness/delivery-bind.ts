import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDrivenServer, ZONES, type DrivenServer } from './driven-server.ts';

/** Writes the configuration of a BIND server whose keys the service manages. */
function configure(folder: string, port: number, controlPort: number): void {
  const secret = randomBytes(32).toString('base64');
  writeFileSync(
    join(folder, 'rndc.key'),
    `key "rndc-key" { algorithm hmac-sha256; secret "${secret}"; };\n`,
  );
  const lists = ['transfer', 'update'].flatMap((right) =>
    ['', ...ZONES.map((zone) => `-${zone}`)].map(
      (end) => `acl "tsigil-${right}${end}" { none; };\n`,
    ),
  );
  writeFileSync(join(folder, 'keys', 'tsigil.conf'), lists.join(''));
  const zones = ZONES.map(
    (zone) => `zone "${zone}" {
  type primary; file "${folder}/${zone}.zone";
  allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };
  allow-update { "tsigil-update"; "tsigil-update-${zone}"; };
};
`,
  );
  writeFileSync(
    join(folder, 'named.conf'),
    `include "${folder}/rndc.key";
include "${folder}/keys/tsigil.conf";
options {
  directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key";
  listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; notify no;
  dnssec-validation no; allow-transfer { "tsigil-transfer"; };
};
controls { inet 127.0.0.1 port ${controlPort} allow { 127.0.0.1; } keys { "rndc-key"; }; };
${zones.join('')}`,
  );
}

/**
 * Starts a BIND server for the delivery of keys. `nameServers` is the value of the setting with
 * this name, in which the server is `ns1`.
 */
export async function startDeliveryBind(): Promise<{
  readonly bind: DrivenServer;
  readonly nameServers: string;
}> {
  const bind = await startDrivenServer({
    name: 'BIND',
    configure,
    command: (folder) => ['named', '-c', join(folder, 'named.conf'), '-n', '1', '-g'],
  });
  const local = {
    file: join(bind.folder, 'keys', 'tsigil.conf'),
    controlPort: bind.controlPort,
    controlKeyFile: join(bind.folder, 'rndc.key'),
  };
  const entry = {
    ...{ name: 'ns1', driver: 'bind', local },
    ...{ address: `127.0.0.1:${bind.address.port}`, probeZone: 'a.test.' },
  };
  return { bind, nameServers: JSON.stringify([entry]) };
}
