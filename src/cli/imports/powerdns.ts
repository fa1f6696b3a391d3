import { entryOf } from '../../domain/key-formats/reader.ts';
import { parseJson } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { sendRequest } from '../service/send-request.ts';
import type { FoundKey } from './key-import.ts';

const HINT =
  'Check that the API is enabled (api=yes, webserver=yes) and permits this address (webserver-allow-from).';

/**
 * Reads every key of a PowerDNS server through its API. Reads each key separately, because the list
 * has no secrets. Throws `CommandError`.
 */
export async function readPowerdnsKeys(url: string, apiKey: string): Promise<FoundKey[]> {
  const base = `${url}/api/v1/servers/localhost/tsigkeys`;
  const list = (await get(base, apiKey)) as { id: string }[];
  const found: FoundKey[] = [];
  for (const { id } of list) {
    const { name, algorithm, key } = (await get(
      `${base}/${encodeURIComponent(id)}`,
      apiKey,
    )) as Record<string, string | undefined>;
    const parts = Object.entries({ name, algorithm, secret: key }).filter(
      ([, part]) => part !== undefined,
    );
    found.push({ place: id, found: entryOf({ line: 0 }, Object.fromEntries(parts)) });
  }
  return found;
}

async function get(url: string, apiKey: string): Promise<unknown> {
  const headers = { accept: 'application/json', 'x-api-key': apiKey };
  const { origin } = new URL(url);
  const response = await sendRequest(
    { method: 'GET', url, headers },
    {},
    { name: `PowerDNS at '${origin}'`, hint: HINT },
  );
  if (response.status === 401)
    throw new CommandError(
      EXIT.unreachable,
      'PowerDNS rejected the API key',
      'Set PDNS_API_KEY to the value of api-key in its configuration.',
    );
  if (response.status !== 200)
    throw new CommandError(
      EXIT.refused,
      `PowerDNS returned ${response.status} ${response.statusText}`,
    );
  const content = parseJson(response.text);
  if (content === undefined)
    throw new CommandError(
      EXIT.refused,
      `The response from '${origin}' is not JSON`,
      'Set --from-powerdns to the URL of the PowerDNS API.',
    );
  return content;
}
