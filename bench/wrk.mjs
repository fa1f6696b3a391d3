import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * Returns whether wrk is installed. wrk is written in C, and generates more load than a load
 * generator in JavaScript.
 */
export function hasWrk() {
  return spawnSync('wrk', ['--version']).error === undefined;
}

/**
 * Sends GET requests for `paths` in rotation with wrk, and returns the measurements. Throws if a
 * request fails or a response has a status of 400 or above. Does not check bodies, because
 * autocannon checks the bodies of the same requests.
 *
 *
 * @param {{ url: string, headers?: Record<string, string>, paths: string[], connections: number, seconds: number }} job
 *
 * @returns {Promise<import('./load.mjs').LoadResult>}
 */
export async function runWrk({ url, headers = {}, paths, connections, seconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-wrk-'));
  const script = join(folder, 'requests.lua');
  writeFileSync(script, luaScript(paths, headers));
  try {
    const duration = Math.max(1, Math.round(seconds)); // wrk accepts only whole seconds
    const child = spawn(
      'wrk',
      ['-t', '1', '-c', String(connections), '-d', `${duration}s`, '--latency', '-s', script, url],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return readResult(output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns a Lua script that prepares all requests, sends them in rotation, and prints the line that
 * `readResult` parses.
 */
function luaScript(paths, headers) {
  const table = Object.entries(headers).map(
    ([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  return `local paths = {${paths.map((path) => JSON.stringify(path)).join(', ')}}
local headers = {${table.join(', ')}}
local requests = {}
local next = 0
function init()
  for index, path in ipairs(paths) do requests[index] = wrk.format("GET", path, headers) end
end
function request()
  next = next % #requests + 1
  return requests[next]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
`;
}

function readResult(output) {
  const values = /^RESULT (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(output)?.slice(1).map(Number);
  if (values === undefined) throw new Error(`wrk printed no result: ${output}`);
  const [requests, microseconds, p50, p99, wrong] = values;
  if (wrong > 0) throw new Error(`${wrong} of ${requests} requests failed`);
  return { requests, seconds: microseconds / 1e6, p50: p50 / 1000, p99: p99 / 1000, wrong };
}
