package io.hyperslab.spark;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.hyperslab.CorruptException;
import io.hyperslab.InternalException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.NativeBatch;
import io.hyperslab.NotFoundException;
import io.hyperslab.Planning;
import io.hyperslab.SplitReader;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class NativeLibraryTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();

  private static String describe(String request) {
    try (Planning planning = new Planning()) {
      return planning.describe(request);
    }
  }

  @Test
  public void eachClassLoaderLoadsAPrivateCopyThatIsDeleted() throws Exception {
    URL classes = NativeBatch.class.getProtectionDomain().getCodeSource().getLocation();
    File copies = folder.newFolder();
    System.setProperty("hyperslab.native.folder", copies.getPath());
    try {
      for (int number = 0; number < 2; number++) {
        try (URLClassLoader own = new URLClassLoader(new URL[] {classes}, null)) {
          Class<?> batch = Class.forName("io.hyperslab.NativeBatch", true, own);
          assertEquals(0, batch.getMethod("live").invoke(null));
        }
      }
    } finally {
      System.clearProperty("hyperslab.native.folder");
    }
    assertEquals(0, copies.list().length);
  }

  @Test
  public void invalidAddressesSplitsAndRequestsAreErrors() {
    assertThrows(InvalidInputException.class, () -> NativeBatch.release(12345));
    assertThrows(InvalidInputException.class, () -> new SplitReader(new byte[] {1, 2}, "{}", "[]"));
    assertThrows(InvalidInputException.class, () -> describe("{\"files\": []}"));
    assertEquals(0, NativeBatch.live());
  }

  @Test
  public void aPanicBecomesAnException() throws Exception {
    Method panic = NativeBatch.class.getDeclaredMethod("panic");
    panic.setAccessible(true);
    InvocationTargetException thrown =
        assertThrows(InvocationTargetException.class, () -> panic.invoke(null));
    assertTrue(thrown.getCause() instanceof InternalException);
    assertTrue(thrown.getCause().getMessage(), thrown.getCause().getMessage().contains("a panic"));
    assertEquals(0, NativeBatch.live());
  }

  @Test
  public void errorsHaveALocation() throws IOException {
    String missing = new File(folder.getRoot(), "missing.h5").getPath();
    NotFoundException error = assertThrows(
        NotFoundException.class,
        () -> describe("{\"files\": [\"" + missing + "\"], \"dataset\": \"/\"}"));
    assertEquals(missing, error.file());
    Path broken = folder.newFile("broken.h5").toPath();
    byte[] bytes = new byte[600];
    System.arraycopy(
        new byte[] {(byte) 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'}, 0, bytes, 0, 8);
    java.nio.file.Files.write(broken, bytes);
    CorruptException corrupt = assertThrows(
        CorruptException.class,
        () -> describe("{\"files\": [\"" + broken + "\"], \"dataset\": \"/\"}"));
    assertEquals(broken.toString(), corrupt.file());
  }
}
