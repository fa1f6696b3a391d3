import { startTestService, temporaryFolder, type TestService } from './service.ts';
import type { ServiceDependencies } from '../../src/service-parts.ts';

/** A created token, as the API returns it. */
export interface CreatedToken {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

/**
 * Creates a token with each request body in `bodies`, and starts a service with these tokens and
 * without `adminToken`. Returns the tokens in the order of `bodies`.
 */
export async function startWithTokens(
  bodies: readonly object[],
  variables: Record<string, string> = {},
  dependencies: Partial<ServiceDependencies> = {},
): Promise<{ service: TestService; tokens: CreatedToken[] }> {
  const folder = temporaryFolder();
  const { TSIGIL_POLICY: policy } = variables;
  const first = await startTestService(policy === undefined ? {} : { TSIGIL_POLICY: policy }, {
    folder,
    ...dependencies,
  });
  const tokens: CreatedToken[] = [];
  for (const body of bodies)
    tokens.push((await first.post('/v2/tokens', body)).body as CreatedToken);
  await first.close();
  const service = await startTestService(
    { TSIGIL_ADMIN_TOKEN: '', ...variables },
    { folder, ...dependencies },
  );
  return { service, tokens };
}
