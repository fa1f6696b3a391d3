import { BRAND_NAMES, BRANDS } from '../brands/brands.ts';
import { rightsOf, type Brand } from '../brands/brand.ts';
import { RIGHTS } from '../access/rights.ts';
import { boolean, enumeration, list, text, uuid } from '../core/field.ts';
import { defineFields, defineResource, OPERATIONS, type ResourceOf } from '../core/resource.ts';
import { dnsAddressProblem } from '../core/text/dns-address.ts';
import { isAbsoluteName } from '../core/text/dns-name.ts';
import { statusFields } from './name-server-status.ts';
import { DEFAULT_POOL_ID, pool } from './pool.ts';
import { hostName, note, optionalField } from '../core/shared-fields.ts';

/** Why some programs do not support a right. */
const REASONS = Object.values(BRANDS).flatMap(({ supports }: Brand) =>
  RIGHTS.map((right) => supports[right]).filter((reason) => reason !== true),
);

const fields = defineFields({
  name: {
    ...hostName(),
    description:
      'The name of the name server in commands, logs and metrics. The name must be unique.',
    example: 'ns1',
    onCreate: 'required',
  },
  pool_id: {
    ...uuid(),
    description: 'The id of the pool whose keys the name server gets.',
    example: DEFAULT_POOL_ID,
    onCreate: 'required',
    refersTo: 'pools',
  },
  driver: {
    ...enumeration(BRAND_NAMES),
    description: 'The program that the name server runs.',
    example: 'bind',
    onCreate: 'required',
    set: 'once',
  },
  address: {
    ...text({ min: 1, max: 260, problemOf: dnsAddressProblem }),
    description:
      'The host that responds to DNS queries, with the port if the port is not 53: `192.0.2.53:5300` or `[2001:db8::53]:5300`.',
    example: '192.0.2.53',
    onCreate: 'required',
  },
  rights: {
    ...list(enumeration(RIGHTS), 1, 2),
    description: [
      'The rights of the keys on this name server: `transfer`, `update` or both',
      ...REASONS,
    ]
      .map((sentence) => `${sentence}.`)
      .join(' '),
    example: ['transfer'],
    onCreate: { default: ['transfer'] },
  },
  delivery: {
    ...enumeration(['service', 'agent']),
    description:
      'Who delivers the keys. `service` is a service process whose setting `nameServers` lists this name server. `agent` is `tsigil agent` on the host of the name server.',
    example: 'service',
    onCreate: { default: 'service' },
  },
  paused: {
    ...boolean(),
    description: 'Whether the delivery of keys to this name server is paused.',
    example: false,
    onCreate: { default: false },
  },
  probe_zone: optionalField(
    text({
      min: 2,
      max: 254,
      problemOf: (value) =>
        isAbsoluteName(value) ? undefined : 'must be the name of a zone with a period at the end',
    }),
    'A zone of the name server for signed test queries with the keys of the pool. If null, the service uses a zone of the pool that the name server serves.',
    'example.org.',
  ),
  description: note('A note about the name server.', 'Primary in Geneva'),
  ...statusFields,
});

export type NameServer = ResourceOf<typeof fields>;

/** A running name server that gets the keys of a pool. */
export const nameServer = defineResource({
  collection: 'nameservers',
  noun: 'nameserver',
  title: 'NameServer',
  words: { one: 'name server', many: 'name servers' },
  description:
    'A running name server that gets the keys of a pool. Its sockets, files and control keys are only in the configuration of the service or of the agent.',
  operations: OPERATIONS,
  fields,
  unique: { field: 'name', comparisonForm: (name) => name.toLowerCase() },
  filters: { name: 'unique', pool_id: 'exact', driver: 'lower' },
  references: {
    pool: { type: pool, description: 'this pool', fields: (id) => ({ pool_id: id }) },
  },
  refusals: {
    create: ['no_valid_pool_found'],
    update: ['no_valid_pool_found', 'key_is_referenced'],
  },
  warnings: () => [], // only its rule has any: about the pool
  problems(given, _settings, current) {
    const driver = current?.driver ?? given.driver;
    if (driver === undefined) return [];
    const brand: Brand = BRANDS[driver];
    return (given.rights ?? current?.rights ?? [])
      .filter((right) => brand.supports[right] !== true)
      .map((right) => ({
        path: ['rights'],
        message: `must be only ${rightsOf(brand).join(' or ')}, because ${brand.supports[right]}`,
        validator: 'not_allowed',
      }));
  },
});
