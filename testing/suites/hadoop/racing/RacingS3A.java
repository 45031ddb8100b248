package racing;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/** S3A where another program puts an object called {@code raced.h5} at the moment at which somebody is about to. */
public class RacingS3A extends S3AFileSystem {
  @Override
  public FSDataOutputStreamBuilder createFile(Path path) {
    if (path.getName().equals("raced.h5")) {
      try (OutputStream stream = create(path, true)) {
        stream.write("another program was faster".getBytes("UTF-8"));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
    return super.createFile(path);
  }
}
