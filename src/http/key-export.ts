import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../domain/operations/change.ts';
import { getResource, readId } from '../domain/operations/collection.ts';
import { ServiceError } from '../domain/model/errors.ts';
import { exportKey, findFormat } from '../domain/key-formats/formats.ts';
import type { Parameter } from '../domain/operations/list-query.ts';
import { tsigkey } from '../domain/resources/tsigkey.ts';
import { signedIn } from './request/guard.ts';
import { isModifier } from './request/context.ts';
import { addRoutes } from './request/routes.ts';
import { readParameters } from './request/urls.ts';

/** Serves a key in the form of a consumer, for whoever may get the key. */
export function addKeyExport(app: FastifyInstance, dependencies: Dependencies): void {
  addRoutes(app, `/v2/${tsigkey.collection}/:id/export`, [
    {
      method: 'GET',
      right: `${tsigkey.collection}:get`,
      async handler(request, reply) {
        const id = readId(tsigkey, (request.params as { id: string }).id);
        const format = readFormat(readParameters(request.url).filter(([name]) => !isModifier(name)));
        const { name, algorithm, secret } = await getResource(dependencies, tsigkey, signedIn(request), id);
        const file = exportKey(format, { name: String(name), algorithm: String(algorithm), secret: String(secret) });
        reply.header('content-type', `${file.mediaType}; charset=UTF-8`);
        reply.header('content-disposition', `attachment; filename="${file.fileName}"`);
        return reply.send(file.text);
      },
    },
  ]);
}

/** The name of the form that the only parameter asks for. Throws `bad_request`. */
function readFormat(parameters: readonly Parameter[]): string {
  const stray = parameters.find(([name]) => name !== 'format');
  if (stray !== undefined) throw new ServiceError('bad_request', 'format is the only parameter of an export');
  if (parameters.length > 1) throw new ServiceError('bad_request', 'format is given twice');
  const [, format = ''] = parameters[0] ?? [];
  findFormat(format);
  return format;
}
