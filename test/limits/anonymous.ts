import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { OPTIONS } from '../../src/config/options.ts';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { IN_TURN, NEW_WORD, pipelined, requestText, SECONDS, single } from './attack.ts';
import { startEmptyKeystone, type EmptyKeystone } from './keystone.ts';
import type { Scenario } from './scenario.ts';

const KB = 1024;
const HOSTS = Array.from({ length: 50 }, (_, number) => `host-${number}.example`);
const OPEN_PATHS = ['/docs', '/openapi.json', '/metrics', '/unknown'];

/** The start of a ClientHello record without its remaining 506 bytes (RFC 8446 section 5.1). */
const CLIENT_HELLO_BEGINNING = '\x16\x03\x01\x02\x00\x01';

/** The fake Keystones of the attack in progress. */
const keystones: EmptyKeystone[] = [];

/** How many seconds of its rate an address may send at once. */
const BURST_SECONDS = 4;

/** Returns the default of a numeric setting. */
function defaultOf(key: string): number {
  return Number(OPTIONS.find((option) => option.key === key)?.default);
}

/** Attacks that need no token. */
export const ANONYMOUS: readonly Scenario[] = [
  {
    name: 'Open connections and send nothing',
    bound:
      'At most half of all connections come from one address. One whose first request does not arrive in 30 s is closed.',
    settings: ['api.maxConnections', 'api.maxConnectionsPerAddress', 'api.requestTimeoutSeconds'],
    cost: 'Nothing: the other half of the connections stays free.',
    openFiles: 64,
    variables: { TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '3' },
    attack: () => ({
      ...IN_TURN,
      seconds: 7,
      connections: 60,
      blocks: [],
      sending: 'nothing',
    }),
    atLeast: { opened: 38 },
  },
  {
    name: 'Begin TLS handshakes and do not finish them',
    bound:
      'At most half of all connections come from one address. One whose handshake takes longer than 10 s is closed.',
    settings: ['api.maxConnectionsPerAddress'],
    cost: 'Nothing: the other half of the connections stays free.',
    openFiles: 64,
    needs: ['openssl', 'openssl'],
    prepare(folder) {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'); // for the self-signed certificate
      onTestFinished(() => void vi.unstubAllEnvs());
      createAuthority(folder, 'authority');
      createCertificate(folder, 'authority');
      return {
        TSIGIL_TLS_CERT: join(folder, 'server.pem'),
        TSIGIL_TLS_KEY: join(folder, 'server.key'),
      };
    },
    attack: () => ({
      seconds: 14,
      connections: 38,
      blocks: single(CLIENT_HELLO_BEGINNING),
      sending: 'once',
      reading: 'everything',
    }),
    atLeast: { opened: 38, closed: 38 },
  },
  {
    name: 'Pipeline 57 KB of requests on one connection',
    bound: 'A connection runs one request at a time, and is closed when more than 64 wait.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: 'The time of one request.',
    attack: () => ({
      ...IN_TURN,
      connections: 1,
      blocks: pipelined(57 * KB, requestText('GET', '/v2/tlds')),
      sending: 'always',
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Pipeline 57 KB of requests on 20 connections',
    bound: 'A connection runs one request at a time, and is closed when more than 64 wait.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: 'The time of one request for each connection.',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(57 * KB, ...OPEN_PATHS.map((path) => requestText('GET', path))),
      sending: 'always',
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Request the documents with 50 alternating Host headers',
    bound:
      'The service renders each document once for all host names. It counts resources for the metrics at most every 15 s.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: 'The time of one request for each connection.',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(
        57 * KB,
        ...HOSTS.flatMap((host) =>
          OPEN_PATHS.map((path) => requestText('GET', path, { Host: host })),
        ),
      ),
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Send requests at one byte per second',
    bound: 'A connection whose request does not arrive in full in 30 s is closed.',
    settings: ['api.maxConnections', 'api.maxConnectionsPerAddress', 'api.requestTimeoutSeconds'],
    cost: 'One open file for each connection.',
    attack: () => ({
      ...IN_TURN,
      connections: 300,
      blocks: single(requestText('GET', '/v2/tlds')),
      sending: 'a byte a second',
    }),
    atLeast: { opened: 20 },
  },
  {
    name: 'Read /docs slowly',
    bound:
      'A connection on which the client reads nothing for 30 s is closed. It has one response in memory.',
    settings: ['api.responseTimeoutSeconds', 'api.maxConnectionsPerAddress'],
    cost: 'About 0.1 MB of memory for each connection.',
    attack: () => ({
      ...IN_TURN,
      connections: 100,
      blocks: pipelined(57 * KB, requestText('GET', '/docs')),
      sending: 'always',
      reading: 'slowly',
    }),
    atLeast: { opened: 20, receivedBytes: 10_000 },
  },
  {
    name: 'Guess tokens',
    bound:
      'An address gets 429 above 50 requests per second without a valid token. A token has 256 random bits.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: '50 database queries per second.',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(
        8 * KB,
        requestText('GET', '/v2/tlds', { 'X-Auth-Token': `tsigil_${NEW_WORD}${NEW_WORD}` }),
      ),
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Guess Keystone tokens',
    bound: 'An address gets 429 above 50 requests per second without a valid token.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: '50 requests to Keystone per second.',
    async prepare() {
      const keystone = await startEmptyKeystone();
      keystones.push(keystone);
      return { TSIGIL_AUTH_METHOD: '[tokens, keystone]', TSIGIL_AUTH_KEYSTONE_URL: keystone.url };
    },
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(
        8 * KB,
        requestText('GET', '/v2/tlds', { 'X-Auth-Token': `keystone-${NEW_WORD}${NEW_WORD}` }),
      ),
    }),
    atLeast: { answers: 2000 },
    problems() {
      const requests = keystones.pop()?.asked() ?? 0;
      const most =
        defaultOf('rateLimit.anonymousRequestsPerSecond') * (BURST_SECONDS + SECONDS + 1);
      return requests > 0 && requests <= most
        ? []
        : [`Keystone was asked ${requests} times, at most ${most} expected`];
    },
  },
  {
    name: 'Send requests without a token',
    bound: 'An address gets 429 above 50 requests per second without a valid token.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: 'About 0.1 ms of CPU time for each request.',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: single(requestText('GET', '/v2/tlds')),
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Open and close connections',
    bound: 'At most half of all connections come from one address.',
    settings: ['api.maxConnectionsPerAddress'],
    cost: 'About 0.2 ms of CPU time for each connection.',
    attack: () => ({
      ...IN_TURN,
      connections: 50,
      blocks: [],
      sending: 'nothing',
      closing: 'at once',
    }),
    atLeast: { opened: 1000 },
  },
  {
    name: 'Open a connection for each request',
    bound: 'An address gets 429 above 50 requests per second without a valid token.',
    settings: ['rateLimit.anonymousRequestsPerSecond'],
    cost: 'About 0.5 ms of CPU time for each request.',
    attack: () => ({
      ...IN_TURN,
      connections: 50,
      blocks: single(requestText('GET', '/docs')),
      closing: 'after the answer',
    }),
    atLeast: { opened: 200 },
  },
];
