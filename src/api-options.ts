import { MAX_LIMIT } from './domain/settings.ts';
import { integer, origins, word, yesOrNo, type Option } from './readings.ts';

/** The settings of the API: its limits, browsers, and rates. Rows of the table in `options.ts`. */
export const API_OPTIONS: readonly Option[] = [
  { key: 'api.defaultLimit', ...integer(1, MAX_LIMIT), default: MAX_LIMIT, meaning: 'How many items a list holds when the caller gives no `limit`.' },
  {
    key: 'api.platform',
    ...word(),
    default: 'Openstack',
    meaning: 'The word in the name of the header that carries the request id: `X-Openstack-Request-Id`.',
  },
  {
    key: 'api.maxBodyBytes',
    ...integer(1024, 64 * 1024 * 1024),
    default: 114_688,
    meaning: 'The largest request body; a larger one is answered with 413. Lists of TLD entries may have 2 MiB in any case.',
  },
  {
    key: 'api.maxBodyBytesInFlight',
    ...integer(1024 * 1024, 16 * 1024 * 1024 * 1024),
    default: 33_554_432,
    meaning:
      'How many bytes of request bodies above 64 KiB may be in memory at once; further requests wait. One caller takes at most a quarter, but always one body of the largest size.',
  },
  {
    key: 'api.maxHeaderBytes',
    ...integer(1024, 1024 * 1024),
    default: 16_384,
    meaning: 'The largest request head; a larger one is answered with 431.',
  },
  {
    key: 'api.requestTimeoutSeconds',
    ...integer(1, 3600),
    default: 30,
    meaning: 'How long a request may take to arrive in full.',
  },
  {
    key: 'api.responseTimeoutSeconds',
    ...integer(1, 3600),
    default: 30,
    meaning: 'How long a caller may read no byte of a response. The service then closes the connection.',
  },
  {
    key: 'api.maxUnsentBytes',
    ...integer(16 * 1024 * 1024, 64 * 1024 * 1024 * 1024),
    default: 64 * 1024 * 1024,
    meaning:
      'The most bytes of responses above 64 KiB that wait in memory until their callers read them, and a quarter of that for one caller. Beyond it, requests get 503.',
  },
  {
    key: 'api.scanTimeoutSeconds',
    ...integer(1, 600),
    default: 10,
    meaning: 'How long a list may take that no index answers, such as one with a pattern. After that it is answered with 503.',
  },
  {
    key: 'api.maxPageBytes',
    ...integer(16_384, 64 * 1024 * 1024),
    default: 1_048_576,
    meaning: 'The most bytes of items on one page of a list. A page ends before the item that would exceed it, and `links.next` leads to that item.',
  },
  {
    key: 'api.maxConnections',
    ...integer(1, 1_000_000),
    default: 4096,
    meaning:
      'The most connections from callers to one process; more are closed on arrival. Lower where the limit of open files allows fewer: see [operations](operations.md#limits-of-connections).',
  },
  {
    key: 'api.maxConnectionsPerAddress',
    ...integer(1, 1_000_000),
    default: 1024,
    meaning:
      'The most connections from one IPv4 address or IPv6 /64 network, and never more than half of `api.maxConnections`. Not applied with `api.trustProxyHeaders`.',
  },
  {
    key: 'api.trustProxyHeaders',
    ...yesOrNo(),
    default: false,
    meaning:
      'Read the scheme and host of links from `X-Forwarded-Proto` and `X-Forwarded-Host`, and the address of the client from the last element of `X-Forwarded-For`. Only behind a proxy that sets all three.',
  },
  {
    key: 'cors.allowedOrigins',
    ...origins(),
    default: [],
    meaning: 'Origins whose pages may call the API from a browser, such as `https://console.example`.',
  },
  {
    key: 'rateLimit.requestsPerSecond',
    ...integer(0, 1_000_000),
    default: 0,
    meaning: 'Requests a second that one caller may make in the long run; 0 sets no limit.',
  },
  { key: 'rateLimit.burst', ...integer(1, 1_000_000), default: 100, meaning: 'Requests that one caller may make at once before the rate counts.' },
  {
    key: 'rateLimit.anonymousRequestsPerSecond',
    ...integer(0, 1_000_000),
    default: 50,
    meaning:
      'Requests a second without a valid token that one address may make on average, and the /64 of an IPv6 address; 0 sets no limit. `/healthcheck` and `/readyz` are not counted.',
  },
  {
    key: 'rateLimit.anonymousBurst',
    ...integer(1, 1_000_000),
    default: 200,
    meaning: 'Requests without a valid token that one address may make at once before the rate counts.',
  },
];
