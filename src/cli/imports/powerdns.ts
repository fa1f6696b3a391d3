import { entryOf } from '../../domain/key-formats/reader.ts';
import { parseJson } from '../../net/http.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { sendRequest } from '../service/send-request.ts';
import type { FoundKey } from './key-import.ts';

const HINT = 'Is the API on (api=yes, webserver=yes), and may this address use it (webserver-allow-from)?';

/** Every key of a PowerDNS server, over its API. The list there has no secrets, so each key is asked for. Throws `CommandError`. */
export async function readPowerdnsKeys(url: string, apiKey: string): Promise<FoundKey[]> {
  const base = `${url}/api/v1/servers/localhost/tsigkeys`;
  const list = (await ask(base, apiKey)) as { id: string }[];
  const found: FoundKey[] = [];
  for (const { id } of list) {
    const { name, algorithm, key } = (await ask(`${base}/${encodeURIComponent(id)}`, apiKey)) as Record<string, string | undefined>;
    const parts = Object.entries({ name, algorithm, secret: key }).filter(([, part]) => part !== undefined);
    found.push({ place: id, found: entryOf(0, Object.fromEntries(parts)) });
  }
  return found;
}

async function ask(url: string, apiKey: string): Promise<unknown> {
  const headers = { accept: 'application/json', 'x-api-key': apiKey };
  const { origin } = new URL(url);
  const answer = await sendRequest({ method: 'GET', url, headers }, {}, { name: `PowerDNS at '${origin}'`, hint: HINT });
  if (answer.status === 401)
    throw new CommandError(EXIT.unreachable, 'PowerDNS does not accept the API key', 'Set PDNS_API_KEY to what api-key is in its configuration.');
  if (answer.status !== 200) throw new CommandError(EXIT.refused, `PowerDNS answered ${answer.status} ${answer.statusText}`);
  const content = parseJson(answer.text);
  if (content === undefined) throw new CommandError(EXIT.refused, 'What answered is not the API of PowerDNS');
  return content;
}
