import { isAbsoluteName } from '../../core/text/dns-name.ts';
import type { NameServer } from '../../net/dns.ts';
import { InvalidArgumentError } from '../../cli/flags/flag.ts';
import { absoluteAsciiName } from '../../cli/flags/names.ts';

/** A name server, with its address as the operator wrote it. */
export interface Server extends NameServer {
  readonly text: string;
}

/** Collects the name servers of a repeated flag, each only once. Throws `InvalidArgumentError`. */
export function collectServer(
  text: string,
  earlier: readonly Server[] | undefined,
): readonly Server[] {
  const server = { ...readServer(text), text };
  const isKnown = earlier?.some(({ host, port }) => host === server.host && port === server.port);
  return isKnown === true ? (earlier ?? []) : [...(earlier ?? []), server];
}

/** Reads `host`, `host:port` or `[address]:port`. */
function readServer(text: string): NameServer {
  const [, bracketed, plain, port = '53'] =
    /^(?:\[([\da-f:.%\w]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain ?? (/^[\da-f:.]+$/i.test(text) ? text : undefined);
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new InvalidArgumentError('It must be a host, host:port or [address]:port.');
  return { host, port: Number(port) };
}

export function readZone(text: string): string {
  const name = text === '.' ? text : absoluteAsciiName(text);
  if (name !== '.' && !isAbsoluteName(name))
    throw new InvalidArgumentError('It must be a domain name.');
  return name;
}
