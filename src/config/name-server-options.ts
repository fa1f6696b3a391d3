import { array, isObject, type Failure, type Kind, type ValueOf } from '../core/field.ts';
import { object, optional } from '../core/object.ts';
import { settingProblem } from '../core/setting-problem.ts';
import { nameServer } from '../resources/name-server.ts';
import { line } from './kinds.ts';
import { option } from './option.ts';

/** The options of a driver. Only the driver checks these options. */
export const LOCAL: Kind = { schema: { type: 'object' }, parse: (value) => ({ value }) };

const { name, driver, address, rights, probe_zone: probeZone } = nameServer.fields;

const SERVER = object({
  name,
  driver,
  address,
  pool: optional(line()),
  rights: optional(rights),
  probeZone: optional(probeZone),
  local: LOCAL,
});

type Server = ValueOf<typeof SERVER>;

/** The name servers to which this process delivers keys. The parser reports all problems of all. */
function nameServers(): Kind<readonly Server[]> {
  const kind = array(SERVER, 0, 1000);
  return {
    schema: { ...kind.schema, description: 'a list of name servers' },
    parse(value) {
      const parsed = kind.parse(value);
      if ('value' in parsed || !Array.isArray(value)) return parsed;
      const problems = value.flatMap((server: unknown, index) => {
        const each = SERVER.parse(server);
        return 'value' in each ? [] : memberProblems(SERVER, server, each, labelOf(server, index));
      });
      return problems.length === 0 ? parsed : { ...parsed, problems };
    },
  };
}

/** Only a name beside a driver is shown, because any other could be a secret in the wrong place. */
function labelOf(server: unknown, index: number): string {
  return isCheckable(server) ? `'${server.name}'` : `item ${index}`;
}

/** Returns the problems of an object of this kind, with messages that begin with `label`. */
export function memberProblems(
  kind: Kind,
  value: unknown,
  { problem, validator, problems = [{ path: [], message: problem, validator }] }: Failure,
  label: string,
) {
  return problems.map((each) => {
    const explained = settingProblem(kind, value, each);
    return { ...explained, message: `${label}: ${explained.message}` };
  });
}

/**
 * Returns the name servers of an invalid value whose name and driver are valid, so that the options
 * of their drivers can be checked too.
 */
export function checkableServers(value: unknown): readonly Server[] {
  const servers: readonly unknown[] = Array.isArray(value) ? value : [];
  return servers.filter(isCheckable);
}

function isCheckable(server: unknown): server is Server {
  return (
    isObject(server) && 'value' in name.parse(server.name) && 'value' in driver.parse(server.driver)
  );
}

export const NAME_SERVERS = option(nameServers(), {
  secret: true,
  meaning:
    'The [name servers](delivery.md#set-up) to which this process delivers keys. At startup, the service creates or updates the name servers with these names.',
});
