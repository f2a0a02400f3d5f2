// Files the engine makes, saved like any download. Asking by hand instead of
// by a link shows a refusal in its own words.
import { blob } from './api';

/** download asks for a file below /admin/ and saves it under its own name, or the one given. */
export async function download(path: string, query: Record<string, string | number | undefined>, name: string): Promise<void> {
  const file = await blob(path, query);
  const url = URL.createObjectURL(file.data);
  const a = document.createElement('a');
  a.href = url;
  a.download = file.name || name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
