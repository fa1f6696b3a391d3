import { array, enumeration, integer, type Kind } from '../domain/model/field.ts';
import { object, optional } from '../domain/model/object.ts';
import { nameServer } from '../domain/resources/name-server.ts';
import { line } from './kinds.ts';
import { option } from './option.ts';

/** The options of a driver. Only the driver checks these options. */
const LOCAL: Kind = { schema: { type: 'object' }, parse: (value) => ({ value }) };

const { name, driver, address, rights, probe_zone: probeZone } = nameServer.fields;

/** The name servers to which this process delivers keys. */
function nameServers() {
  const kind = array(
    object({
      name,
      driver,
      address,
      pool: optional(line()),
      rights: optional(rights),
      probeZone: optional(probeZone),
      local: LOCAL,
    }),
    0,
    1000,
  );
  return { ...kind, schema: { ...kind.schema, description: 'a list of name servers' } };
}

export const DELIVERY_SECTIONS = {
  nameServers: option(nameServers(), {
    secret: true,
    meaning:
      'The [name servers](delivery.md#set-up) to which this process delivers keys. At startup, the service creates or updates the name servers with these names.',
  }),
  delivery: {
    onDrift: option(enumeration(['repair', 'report']), {
      default: 'repair',
      meaning:
        'What the service does if another program has changed the keys on a name server. `repair` restores the keys, and `report` only reports the change.',
    }),
    concurrency: option(integer(1, 1000), {
      default: 8,
      meaning:
        'The maximum number of name servers to which one process delivers keys at the same time.',
    }),
  },
};
