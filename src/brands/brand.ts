import { listName, RIGHTS, type Right } from '../access/rights.ts';
import type { OWN_KEYS } from '../formats/own-keys.ts';
import type { ExportFormat } from '../formats/writer.ts';
import type { KeyLog } from './key-log.ts';

/** What the service knows of a name server program, besides its driver of the same name. */
export interface Brand {
  /** The name of the program, for messages. */
  readonly title: string;
  /**
   * What keys and drivers can do on the program: true, or why not, as a sentence without its full
   * stop. `unknownKeys` means that the driver reports keys that the database lacks.
   */
  readonly supports: Readonly<Record<Right | 'unknownKeys', true | string>>;
  /**
   * Set if a server reports a key that no access list names as unknown, so that no query shows
   * whether the server has the key.
   */
  readonly hidesUnlistedKeys?: true;
  /** Set if no zone names lists of Tsigil, because Tsigil itself writes who has rights in a zone. */
  readonly writesZones?: true;
  /** The command that finds errors in its configuration. Without one, its log has them. */
  readonly checker?: string;
  /** The shortest time between two passes that change a server, in milliseconds. */
  readonly minimumIntervalMs: number;
  /**
   * The beginning of the names of keys that the driver itself creates on a server, in comparison
   * form. Imports leave out these keys.
   */
  readonly ownKeys?: (typeof OWN_KEYS)[keyof typeof OWN_KEYS];
  readonly exports: ExportFormat;
  readonly log: KeyLog;
  readonly recipe: Recipe;
  /**
   * Returns how a zone that was added at run time moves to the configuration file. Absent if a
   * server has no such zones.
   */
  moveAddedZone?(zone: string): string;
}

/** The setup of a server and what delivers its keys on Debian. The texts are without a newline at their end. */
interface Recipe {
  /** The group whose members can use the control channel. */
  readonly group: string;
  /**
   * Returns the commands that create the files of the driver, with entries for these zones. `user`
   * runs the service or the agent, and has the folder `/etc/USER`.
   */
  files(zones: readonly string[], user: string): string;
  /** The configuration file of the server, to which operators add `lines`. */
  readonly configuration: string;
  lines(zones: readonly string[], user: string): string;
  /** The options of the driver. */
  local(user: string): Readonly<Record<string, string>>;
  /** The systemd unit to restart. */
  readonly restart: string;
  /** How to add a zone later, in the right order. `create` is the command that creates it in Tsigil. */
  addZone(create: string): string;
}

/** How to add a zone on a program that reads access lists from `keys.conf`. */
export const addZoneToFile = (
  create: string,
) => `# To add a zone later, create it in Tsigil first, which writes its entries to keys.conf:
${create}
# Then name these entries in the zone, and load the configuration. In the other order, the server
# refuses its configuration, because the entries are missing.`;

export function rightsOf({ supports }: Pick<Brand, 'supports'>): Right[] {
  return RIGHTS.filter((right) => supports[right] === true);
}

/** Returns the lines to add to each zone, as comments. `linesOf` returns those of one zone. */
export function zoneComments(
  zones: readonly string[],
  linesOf: (zone: string) => readonly string[],
): string {
  return zones
    .map((zone) => [`# In the zone ${zone}:`, ...linesOf(zone).map((line) => `#   ${line}`)])
    .flat()
    .join('\n');
}

/**
 * Returns the commands that create the file `keys.conf` in a folder, with an empty access list for
 * each right in all zones and in each of `zones`. `listOf` returns the text of such a list.
 */
export function keyFileCommands(
  user: string,
  group: string,
  folder: string,
  zones: readonly string[],
  rights: readonly Right[],
  listOf: (name: string) => string,
  start = '',
): string {
  const names = [undefined, ...zones].flatMap((zone) =>
    rights.map((right) => listName(right, zone)),
  );
  return `install -d -m 2750 -o ${user} -g ${group} ${folder}
cat > ${folder}/keys.conf <<'END'
${start}${names.map((name) => listOf(name)).join('')}END
chown ${user}:${group} ${folder}/keys.conf`;
}
