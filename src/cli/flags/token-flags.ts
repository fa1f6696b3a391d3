import type { ResourceType } from '../../core/resource.ts';
import { nameServer } from '../../resources/name-server.ts';
import { pool } from '../../resources/pool.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { readExpiry } from './time.ts';

/** A flag that is not derived from its field. */
export interface FieldFlag {
  /** The flag and its value: `--expires <time>`. */
  readonly flag: string;
  readonly description: string;
  /**
   * Converts the value of the flag to the member of the request. By default, the member is the
   * value. `now` is in milliseconds since 1970. Throws `CommandError`.
   */
  read?(text: string, now: number): unknown;
  /** The type of the resources that the values name. The request contains their ids. */
  readonly refersTo?: ResourceType;
}

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
