import { nameServer } from '../../resources/name-server.ts';
import { pool } from '../../resources/pool.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import type { FieldFlag } from '../../cli/flags/resource-command.ts';
import { readExpiry } from '../../cli/flags/time.ts';

export const TOKEN_FLAGS: Readonly<Record<string, FieldFlag>> = {
  roles: {
    flag: '--role <role...>',
    description: 'give the token this role; repeat the flag for more roles',
  },
  project_id: {
    flag: '--project <id>',
    description: 'bind the token to the project with this id',
  },
  pools: {
    flag: '--pool <pool...>',
    description:
      'limit the token to this pool with its zones and keys (name or id); repeat for more pools',
    refersTo: pool,
  },
  zones: {
    flag: '--zone <zone...>',
    description: 'limit the token to this zone and its keys (name or id); repeat for more zones',
    refersTo: zone,
  },
  keys: {
    flag: '--key <tsigkey...>',
    description: 'limit the token to this key (name or id); repeat for more keys',
    refersTo: tsigkey,
  },
  nameservers: {
    flag: '--nameserver <nameserver...>',
    description: 'limit the token of an agent to this nameserver (name or id)',
    refersTo: nameServer,
  },
  addresses: {
    flag: '--from <network...>',
    description:
      'accept the token only from this address or network, such as 192.0.2.0/24; repeat for more networks',
  },
  expires_at: {
    flag: '--expires <time>',
    description:
      'let the token expire at this time (2030-01-31T12:00:00, in UTC) or after this duration (90d, 12h, 30m)',
    read: readExpiry,
  },
};
