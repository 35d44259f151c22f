! SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
! Lets a Fortran program publish its progress; see poppa_heartbeat(3).
!
! Compile it with the program, as modules of one compiler are of no use to another, and link with
! -lpoppa-heartbeat.
module poppa_heartbeat
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t
  implicit none
  private
  public :: poppa_heartbeat_open, poppa_heartbeat_add, poppa_heartbeat_close

  interface
    ! Publishes this process. 0, or -1 when it could not; a program has no reason to look.
    integer(c_int) function poppa_heartbeat_open() bind(C, name="poppa_heartbeat_open")
      import :: c_int
    end function

    ! Withdraws what the program has published.
    subroutine poppa_heartbeat_close() bind(C, name="poppa_heartbeat_close")
    end subroutine

    subroutine count64(n) bind(C, name="poppa_heartbeat_count")
      import :: c_int64_t
      integer(c_int64_t), value :: n
    end subroutine
  end interface

  ! Counts n units of work of the calling thread, n being an integer of 32 or 64 bits, not negative.
  interface poppa_heartbeat_add
    procedure :: count32, count64
  end interface

contains

  subroutine count32(n)
    integer(c_int32_t), intent(in) :: n
    call count64(int(n, c_int64_t))
  end subroutine

end module
