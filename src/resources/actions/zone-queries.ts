import { defineAction } from '../operations/action.ts';
import { getResource } from '../operations/collection.ts';
import { integer, nullable, text } from '../../core/field.ts';
import { described, responseObject, sequence } from '../../core/object.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { pool } from '../pool.ts';
import { zone } from '../zone.ts';
import { MAX_NAME_LENGTH } from '../../core/text/dns-name.ts';

const NAME_SERVERS = responseObject({
  nameservers: described(
    sequence(
      responseObject({
        priority: described(integer(1, 10_000), 'The priority of the name server in the pool.'),
        hostname: described(text({ min: 2, max: 254 }), 'The name, with a trailing dot.'),
      }),
    ),
    'The name servers, in the order of the pool.',
  ),
});

/** Returns the name servers of a zone: the NS records of its pool. */
export const zoneNameServers = defineAction({
  path: `/v2/${zone.collection}/{id}/nameservers`,
  method: 'GET',
  right: `${zone.collection}:get`,
  operationId: 'list_zone_nameservers',
  summary: 'List the name servers of a zone',
  description: "Returns the `ns_records` of the zone's pool.",
  type: zone,
  response: {
    kind: described(NAME_SERVERS, 'The name servers of a zone.'),
    schemaName: 'ZoneNameServers',
    description: 'The name servers.',
    examples: {
      one: {
        summary: 'One name server.',
        value: { nameservers: [{ priority: 1, hostname: 'ns1.example.org.' }] },
      },
    },
  },
  async run({ dependencies, context, id }) {
    const { pool_id: poolId } = await getResource(dependencies, zone, context.caller, id);
    const found = await dependencies.store.get(pool, String(poolId));
    return { nameservers: found?.ns_records ?? [] };
  },
});

const NO_LIMIT = -1;

/** The value of the quotas on record sets and records, which the service does not store. */
const NONE = 0;

/** The maximum length of a zone name on the wire, in octets. The root label adds one octet. */
const MAX_WIRE_LENGTH = MAX_NAME_LENGTH + 1;

const LIMITS = responseObject({
  max_zones: described(
    integer(NO_LIMIT),
    'The number of zones that a project may have. -1 if there is no limit.',
  ),
  max_zone_recordsets: described(
    integer(NONE),
    'Always 0, because the service does not store record sets.',
  ),
  max_zone_records: described(
    integer(NONE),
    'Always 0, because the service does not store records.',
  ),
  max_recordset_records: described(
    integer(NONE),
    'Always 0, because the service does not store records.',
  ),
  min_ttl: described(
    nullable(integer(0)),
    'The minimum TTL. Always null, because there is no lower limit.',
  ),
  max_zone_name_length: described(
    integer(1),
    'The maximum length of a zone name in octets, including the root label.',
  ),
  max_recordset_name_length: described(
    integer(1),
    'The maximum length of a domain name in octets, including the root label.',
  ),
  max_page_limit: described(integer(1), 'The maximum number of items on a page.'),
});

export const limits = defineAction({
  path: '/v2/limits',
  method: 'GET',
  right: `${zone.collection}:list`,
  operationId: 'get_limits',
  summary: 'Get the limits of the service',
  description: 'Returns the limits of the service for each project, zone and request.',
  type: zone,
  response: {
    kind: described(LIMITS, 'The limits of the service.'),
    schemaName: 'Limits',
    description: 'The limits.',
    examples: {
      default: { summary: 'The limits of the default configuration.', value: limitsOf(0) },
    },
  },
  run({ dependencies: { settings } }) {
    return Promise.resolve(limitsOf(settings.zonesPerProject));
  },
});

function limitsOf(zonesPerProject: number) {
  return {
    max_zones: zonesPerProject === 0 ? NO_LIMIT : zonesPerProject,
    max_zone_recordsets: NONE,
    max_zone_records: NONE,
    max_recordset_records: NONE,
    min_ttl: null,
    max_zone_name_length: MAX_WIRE_LENGTH,
    max_recordset_name_length: MAX_WIRE_LENGTH,
    max_page_limit: MAX_LIMIT,
  };
}
