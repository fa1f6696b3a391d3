import { withConnection, type Connection } from '../../net/connection.ts';
import { NetError } from '../../net/faults.ts';
import { driverErrors } from '../driver-errors.ts';

/**
 * A client for the control socket of Knot DNS. A message is a sequence of units. A unit is one
 * octet for its type, followed by items. An item is one octet for its number plus 16, a 16-bit
 * length, and the octets of its value.
 */

const ITEMS = ['command', 'flags', 'error', 'section', 'item', 'id', 'zone'] as const;
const DATA_ITEM = 10;
const [END, , , BLOCK] = [0, 1, 2, 3];
const DATA_UNIT = 1;
const FIRST_ITEM = 16;
/** The octets of an item before its value. */
const ITEM_HEAD = 3;

/** A command, or a unit of a response. */
export interface KnotUnit {
  readonly command?: string;
  readonly error?: string;
  readonly section?: string;
  readonly item?: string;
  readonly id?: string;
  readonly zone?: string;
  readonly data?: string;
}

/** The server serves one connection at a time, so a connection must be short. */
interface KnotConnection {
  /** Runs a command and returns the units of the response. A unit may have an `error`. */
  run(command: KnotUnit): Promise<readonly KnotUnit[]>;
  /** Runs a command and returns the octets of the response, which `unitsIn` reads. */
  ask(command: KnotUnit): Promise<Buffer>;
}

/** Throws what `work` throws, and `DriverError` if the socket cannot be used. */
export function knotControl<T>(
  path: string,
  signal: AbortSignal,
  work: (connection: KnotConnection) => Promise<T>,
): Promise<T> {
  return driverErrors(`The control socket '${path}' of Knot DNS`, signal, () =>
    withConnection({ path }, signal, async (connection) => {
      const ask = (command: KnotUnit) => {
        connection.send(encode(command));
        return readBlock(connection);
      };
      const result = await work({ ask, run: async (command) => unitsIn(await ask(command)) });
      connection.send(Buffer.of(END));
      return result;
    }),
  );
}

function encode(unit: KnotUnit): Buffer {
  const item = (index: number, value: string | undefined) => {
    if (value === undefined) return [];
    const octets = Buffer.from(value);
    const head = Buffer.alloc(3);
    head.writeUInt8(FIRST_ITEM + index, 0);
    head.writeUInt16BE(octets.length, 1);
    return [head, octets];
  };
  const values: Readonly<Record<string, string | undefined>> = { ...unit };
  return Buffer.concat([
    Buffer.of(DATA_UNIT),
    ...ITEMS.flatMap((name, index) => item(index, values[name])),
    ...item(DATA_ITEM, unit.data),
    Buffer.of(BLOCK),
  ]);
}

function readBlock(connection: Connection): Promise<Buffer> {
  let position = 0;
  return connection.readUntil((octets) => {
    while (position < octets.length) {
      const type = octets[position] ?? END;
      if (type === BLOCK) return position + 1;
      if (type === END) throw new NetError('Knot ended the response early');
      if (type < FIRST_ITEM) position += 1;
      else if (position + ITEM_HEAD > octets.length) break;
      else position += ITEM_HEAD + octets.readUInt16BE(position + 1);
    }
    return undefined;
  });
}

export function unitsIn(octets: Buffer): readonly KnotUnit[] {
  const units: Record<string, string>[] = [];
  for (let position = 0; octets[position] !== BLOCK;) {
    const type = octets.readUInt8(position);
    if (type < FIRST_ITEM) {
      // A unit with a further value of the same item omits the other items.
      units.push({});
      position += 1;
      continue;
    }
    const start = position + ITEM_HEAD;
    position = start + octets.readUInt16BE(position + 1);
    const index = type - FIRST_ITEM;
    const name = index === DATA_ITEM ? 'data' : ITEMS[index];
    const unit = units.at(-1);
    if (unit !== undefined && name !== undefined)
      unit[name] = octets.toString('utf8', start, position);
  }
  return units;
}
