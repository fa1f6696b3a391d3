import { requestText, single } from './attack.ts';
import type { Scenario } from './scenario.ts';

const SECONDS = 5;

/** Attacks for which nobody needs a token. */
export const ANONYMOUS: readonly Scenario[] = [
  {
    name: 'Open connections and send nothing',
    bound: 'The service closes a connection whose first request does not arrive in time.',
    settings: ['api.requestTimeoutSeconds'],
    cost: 'With too few open files, new connections wait until that time is over.',
    openFiles: 64,
    variables: { TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '3' },
    servedAgainWithinSeconds: 4,
    attack: () => ({ seconds: 7, connections: 60, blocks: [], sending: 'nothing', reading: 'everything' }),
    atLeast: { opened: 38 },
  },
  {
    name: 'Send requests one byte a second',
    bound: 'The service closes a connection whose request does not arrive in full in time.',
    settings: ['api.requestTimeoutSeconds'],
    cost: 'One open file for each connection.',
    attack: () => ({
      seconds: SECONDS,
      connections: 300,
      blocks: single(requestText('GET', '/v2/tlds')),
      sending: 'a byte a second',
      reading: 'everything',
      reopening: true,
    }),
    atLeast: { opened: 20 },
  },
  {
    name: 'Send requests without a token',
    bound: 'Each address may send a number of requests a second without a valid token; the service answers the others with 429.',
    settings: ['rateLimit.anonymousRequestsPerSecond', 'rateLimit.anonymousBurst'],
    cost: 'About 0.1 ms of processor time for each request.',
    attack: () => ({
      seconds: SECONDS,
      connections: 20,
      blocks: single(requestText('GET', '/v2/tlds')),
      sending: 'in turn',
      reading: 'everything',
      reopening: true,
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Open and close connections',
    bound: 'A connection without a request takes no other resource.',
    settings: [],
    cost: 'About 0.2 ms of processor time for each connection.',
    attack: () => ({ seconds: SECONDS, connections: 50, blocks: [], sending: 'nothing', reading: 'everything', closing: 'at once', reopening: true }),
    atLeast: { opened: 1000 },
  },
  {
    name: 'Open a connection for each request',
    bound: 'Each address may send a number of requests a second without a valid token; the service answers the others with 429.',
    settings: ['rateLimit.anonymousRequestsPerSecond', 'rateLimit.anonymousBurst'],
    cost: 'About 0.5 ms of processor time for each request.',
    attack: () => ({
      seconds: SECONDS,
      connections: 50,
      blocks: single(requestText('GET', '/docs')),
      sending: 'in turn',
      reading: 'everything',
      closing: 'after the answer',
      reopening: true,
    }),
    atLeast: { opened: 200 },
  },
];
