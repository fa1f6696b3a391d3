import type { Socket } from 'node:net';
import { ServiceError } from '../../domain/model/errors.ts';

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * Returns a signal that aborts when the connection closes, because no client then waits for the
 * responses. All requests of a connection share one signal.
 */
export function connectionSignal(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  const abort = () =>
    controller.abort(
      new ServiceError('request_timeout', 'The caller closed the connection before the response'),
    );
  if (socket.destroyed) abort();
  else socket.once('close', abort);
  signals.set(socket, controller.signal);
  return controller.signal;
}
