import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ServiceError } from '../../core/errors.ts';
import { isObject } from '../../core/field.ts';
import { weightsIn } from '../../http/request/accept.ts';
import {
  addRoutes,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from '../../http/request/routes.ts';

export interface ConsoleFiles {
  readonly page: Asset;
  readonly assets: ReadonlyMap<string, Asset>;
}

interface Asset {
  readonly mediaType: string;
  readonly content: Buffer;
  compressed(): Promise<Buffer>;
}

const compress = promisify<Buffer, Buffer>(gzip);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=UTF-8',
  '.js': 'text/javascript; charset=UTF-8',
  '.css': 'text/css; charset=UTF-8',
  '.svg': 'image/svg+xml',
};

/** The page loads only files of the service, and runs no script in its text (CSP level 3). */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The names of assets contain a hash of their content, so a name always means the same file. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const MISSING = 'web console in this installation. Build it with: npm run build';

/** Reads the built console. Returns undefined if the folder has none. */
export function readConsole(folder: string): ConsoleFiles | undefined {
  try {
    const page = assetOf(join(folder, 'index.html'));
    const names = readdirSync(join(folder, 'assets'));
    return {
      page,
      assets: new Map(names.map((name) => [name, assetOf(join(folder, 'assets', name))])),
    };
  } catch (error) {
    if (isObject(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function assetOf(path: string): Asset {
  const content = readFileSync(path);
  let compressed: Promise<Buffer> | undefined;
  return {
    mediaType: MEDIA_TYPES[extname(path)] ?? 'application/octet-stream',
    content,
    compressed: () => (compressed ??= compress(content)),
  };
}

/**
 * Serves the web console: its files, and its page at every other path, which the page reads itself.
 * A path of a file never returns the page.
 */
export function addConsole(app: FastifyInstance, files: ConsoleFiles | undefined): void {
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (files === undefined) throw new ServiceError('not_found', MISSING);
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
    return send(request, reply, files.page);
  };
  addRoutes(app, '/console', [{ method: 'GET', handler: sendPage }]);
  addRoutes(app, '/console/*', [{ method: 'GET', handler: sendPage }]);
  addRoutes(app, '/console/assets/*', [
    {
      method: 'GET',
      async handler(request, reply) {
        const { '*': name } = isObject(request.params) ? request.params : {};
        const asset = files?.assets.get(String(name));
        if (asset === undefined) throw new ServiceError('not_found');
        reply.header('cache-control', IMMUTABLE);
        return send(request, reply, asset);
      },
    },
  ]);
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
): Promise<FastifyReply> {
  const weights = weightsIn(request.headers['accept-encoding'] ?? '');
  const isCompressed = (weights.get('gzip') ?? 0) > 0;
  if (isCompressed) reply.header('content-encoding', 'gzip');
  const vary = reply.getHeader('vary');
  reply.header('vary', [vary, 'Accept-Encoding'].filter(Boolean).join(', '));
  const body = isCompressed ? await asset.compressed() : asset.content;
  return reply.header('content-type', asset.mediaType).send(body);
}
