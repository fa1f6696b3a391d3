import type { PassResult } from './record.ts';

export interface DeliveryLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The maximum number of key names in one line. */
const MAX_NAMES = 20;

/** Logs a pass that changed something: keys, the state of the name server, or both. */
export function describeResult(log: DeliveryLog, result: PassResult): void {
  const { server, outcome, state, error, addedKeys, removedKeys, foundDrift } = result;
  const fields = { name_server: server.name, state, ...(error === null ? {} : { error }) };
  if (foundDrift) log.warn(fields, 'Another program changed the keys of a name server');
  if (outcome === 'changed')
    log.info(
      {
        ...fields,
        added: shorten(addedKeys),
        removed: shorten(removedKeys),
        keys: result.keysLive,
      },
      'Delivered keys to a name server',
    );
  const isSame = state === server.state && (error?.code ?? null) === server.error_code;
  if (outcome === 'lost' || isSame) return;
  if (state === 'held') {
    log.error({ ...fields, ...result.held }, 'Delivery to a name server is held');
    return;
  }
  if (state === 'open') log.error(fields, 'A name server accepts unsigned requests');
  else if (state === 'prepared') log.info(fields, 'A name server is ready for its operator');
  else if (error !== null) log.warn(fields, 'Keys cannot be delivered to a name server');
  else if (state === 'live') log.info(fields, 'A name server has all its keys');
}

function shorten(names: readonly string[]): readonly string[] {
  return names.length > MAX_NAMES
    ? [...names.slice(0, MAX_NAMES), `and ${names.length - MAX_NAMES} more`]
    : names;
}
