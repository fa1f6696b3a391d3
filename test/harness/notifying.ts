import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DatabaseSync } from '@photostructure/sqlite';
import type { BrandName } from '../../src/brands/brands.ts';
import type { Brand } from './brands/brand.ts';
import { call } from './brands/powerdns.ts';
import type { DrivenServer } from './driven-server.ts';
import { CONFIGURATIONS } from './logging.ts';
import { SECRET } from './samples.ts';

/** The key of the operator that signs NOTIFY on BIND, Knot DNS and NSD. */
export const OPERATORS_KEY = {
  name: 'operators.example',
  algorithm: 'hmac-sha256',
  secret: SECRET,
};

type Edit = (text: string, port: number) => string;

/** What an operator adds so that a server notifies a secondary server at `port`. */
const NOTIFYING: Readonly<Record<BrandName, Edit>> = {
  bind: (text, port) =>
    `key "operators.example" { algorithm hmac-sha256; secret "${SECRET}"; };\n` +
    text.replace(
      'notify no;',
      `notify explicit; notify-delay 0; also-notify { 127.0.0.1 port ${port} key "operators.example"; };`,
    ),
  knot: (text, port) =>
    text
      .replace(
        /^include:/m,
        `  - id: operators.example\n    algorithm: hmac-sha256\n    secret: ${SECRET}\nremote:\n  - id: secondary\n    address: 127.0.0.1@${port}\n    key: operators.example\n$&`,
      )
      .replaceAll(/^ {4}acl: /gm, '    notify: secondary\n$&'),
  nsd: (text, port) =>
    text
      .replace(
        /^include:/m,
        `key:\n    name: "operators.example."\n    algorithm: hmac-sha256\n    secret: "${SECRET}"\n$&`,
      )
      .replaceAll(/^ {4}zonefile: .*\n/gm, `$&    notify: 127.0.0.1@${port} operators.example.\n`),
  powerdns: (text, port) =>
    `${text}primary=yes\nonly-notify=\nalso-notify=127.0.0.1:${port}\ngsqlite3-pragma-synchronous=0\n`,
};

/** Returns a brand whose servers notify a secondary server at `port` of changes. */
export function notifying(brand: Brand, port: number): Brand {
  return {
    ...brand,
    configure(folder, ...others) {
      brand.configure(folder, ...others);
      const file = join(folder, CONFIGURATIONS[brand.driver]);
      writeFileSync(file, NOTIFYING[brand.driver](readFileSync(file, 'utf8'), port));
      if (brand.driver !== 'powerdns') return;
      const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
      database.exec(`UPDATE domains SET type = 'MASTER'`);
      database.close();
    },
  };
}

const runProgram = promisify(execFile);

/** Makes a server notify its secondary servers of a zone. */
export async function requestNotify(
  { folder, controlPort }: DrivenServer,
  driver: BrandName,
  zone: string,
): Promise<void> {
  const port = String(controlPort);
  const commands = {
    bind: ['rndc', '-s', '127.0.0.1', '-p', port, '-k', join(folder, 'rndc.key'), 'notify', zone],
    knot: ['knotc', '-s', join(folder, 'knot.sock'), 'zone-notify', zone],
    nsd: ['nsd-control', '-c', join(folder, 'nsd.conf'), 'notify', zone],
  } as const;
  if (driver === 'powerdns') await call(folder, controlPort, 'PUT', `/zones/${zone}./notify`);
  else {
    const [program, ...parameters] = commands[driver];
    await runProgram(program, parameters);
  }
}
