import { useState } from 'preact/hooks';
import { asRequestError, type RequestError } from '../requests.ts';

/** Does the work of a form once at a time when it is sent, and keeps why it was refused. */
export function useSubmit(work: () => Promise<void>) {
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    await work().catch((failure: unknown) => setError(asRequestError(failure)));
    setBusy(false);
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    void run();
  };
  return { error, isBusy, onSubmit };
}
