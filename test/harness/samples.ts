import { expect } from 'vitest';
import type { ApiResponse, Client } from './client.ts';

/** The sample data of one collection, for suites that test every collection. */
export interface Sample {
  readonly collection: 'tlds' | 'tsigkeys';
  readonly noun: string;
  readonly title: string;
  /** The members of a resource, in the order of a response. */
  readonly members: readonly string[];
  readonly required: readonly string[];
  /** Returns a body that creates a resource with this name. */
  body(name: string): Record<string, unknown>;
  /** New values for members other than the name. */
  readonly change: Readonly<Record<string, unknown>>;
}

/** A secret as `tsig-keygen` prints it. */
export const SECRET = '4ycKXMVMDlVsdtZBSh+FDHzDq4ZnYOcdnkwJ5MBlc2M=';
export const POOL_ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
/** The members of a new key for the default pool, except the name. */
export const KEY_MEMBERS = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL_ID };
/** An id that no resource has. */
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

export const TLDS: Sample = {
  collection: 'tlds',
  noun: 'tld',
  title: 'Tld',
  members: ['id', 'name', 'description', 'created_at', 'updated_at', 'links'],
  required: ['name'],
  body: (name) => ({ name, description: 'A domain' }),
  change: { description: 'Another domain' },
};

export const TSIGKEYS: Sample = {
  collection: 'tsigkeys',
  noun: 'tsigkey',
  title: 'TsigKey',
  members: [
    'id',
    'name',
    'algorithm',
    'secret',
    'scope',
    'resource_id',
    'created_at',
    'updated_at',
    'links',
  ],
  required: ['name', 'algorithm', 'scope', 'resource_id'],
  body: (name) => ({
    name,
    algorithm: 'hmac-sha256',
    secret: SECRET,
    scope: 'POOL',
    resource_id: POOL_ID,
  }),
  change: { scope: 'ZONE' },
};

export const SAMPLES = [TLDS, TSIGKEYS];

/** Creates a resource and returns it. Fails the test if the service refuses to create it. */
export async function create(client: Client, sample: Sample, name: string): Promise<Resource> {
  const response = await client.post(`/v2/${sample.collection}`, sample.body(name));
  expect(response.status, response.text).toBe(201);
  return response.body as Resource;
}

/** A resource, as the API returns it. */
export interface Resource extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly links: { readonly self: string };
}

/** Returns the items of a list response. */
export function itemsOf(
  response: ApiResponse,
  { collection }: Pick<Sample, 'collection'>,
): Resource[] {
  expect(response.status, response.text).toBe(200);
  return (response.body as Record<string, Resource[]>)[collection] ?? [];
}

/**
 * Expects an error with this status and type, and with the same request id in the header and the
 * body. Returns the message of the error.
 */
export function expectError(response: ApiResponse, status: number, type: string): string {
  expect(
    { status: response.status, type: (response.body as { type?: string }).type },
    response.text,
  ).toEqual({ status, type });
  const {
    code,
    message,
    request_id: requestId,
  } = response.body as { code: number; message: string; request_id: string };
  expect(code).toBe(status);
  expect(message).not.toBe('');
  expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(response.headers.get('x-openstack-request-id')).toBe(requestId);
  return message;
}

/** Returns the path and the violated rule of each error in an `invalid_object` response. */
export function problemsOf(response: ApiResponse): string[] {
  expectError(response, 400, 'invalid_object');
  const { errors } = (
    response.body as {
      errors: { errors: { path: unknown[]; validator: string; message: string }[] };
    }
  ).errors;
  return errors.map(({ path, validator }) => `${path.join('.')}: ${validator}`);
}
